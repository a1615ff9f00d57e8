// SPDX-License-Identifier: Apache-2.0
#include "encoded_videos.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <memory>
#include <utility>

#include "errors.h"
#include "options.h"
#include "tricodec/error.h"
#include "tricodec/media_source.h"

namespace tricodec::plugin {

EncodedVideos::EncodedVideos(const ::dali::OpSpec& spec, std::string device)
    : device_(std::move(device)),
      stream_index_(translate_errors("", [&] { return stream_index_argument(spec); })),
      start_("start", spec),
      stride_("stride", spec),
      count_("count", spec) {}

std::vector<VideoBatch::Task> EncodedVideos::begin(VideoBatch& batch, const ::dali::Workspace& workspace) const {
    const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
    if (encoded.type() != DALI_UINT8) {
        throw ::dali::DaliTypeError(::dali::make_string("the input \"encoded\" holds ", encoded.type(),
                                                        "; it takes the bytes of whole video files as uint8"));
    }
    if (encoded.sample_dim() != 1) {
        throw ::dali::DaliValueError(
            ::dali::make_string("the input \"encoded\" has ", encoded.sample_dim(),
                                " dimensions a sample; it takes 1: the bytes of a whole file"));
    }
    const int num_samples = encoded.num_samples();
    const auto start = start_.values(workspace, num_samples);
    const auto stride = stride_.values(workspace, num_samples);
    const auto count = count_.values(workspace, num_samples);
    std::vector<VideoBatch::Video> videos;
    std::vector<VideoBatch::Request> requests;
    for (int i = 0; i < num_samples; ++i) {
        const std::string name = encoded.GetMeta(i).GetSourceInfo();
        // One worker: it is the batch's tasks that run at the same time.
        const FrameReaderOptions options{.device = device_, .stream_index = stream_index_, .num_workers = 1};
        const auto open = [i, name, options, &encoded](bool /*anew*/) {
            const auto size = static_cast<std::size_t>(encoded.tensor_shape(i).num_elements());
            TRICODEC_EXPECT(size > 0, corrupt_data, "it holds 0 bytes; each sample must be a whole video file");
            // DALI keeps the input alive until Run returns, and the reader ends there: no owner is needed.
            const auto* data = reinterpret_cast<const std::byte*>(encoded.tensor<std::uint8_t>(i));
            return std::make_shared<OpenVideo>(
                MediaSource::from_bytes({data, size}, nullptr, name.empty() ? "sample " + std::to_string(i) : name),
                options);
        };
        // Indexing reads the whole file: the longest first.
        videos.push_back({.name = name, .open = open, .cost = encoded.tensor_shape(i).num_elements()});
        const auto n = static_cast<std::size_t>(i);
        const FrameSelection selection{.start = start[n][0], .stride = stride[n][0], .count = count[n][0]};
        requests.push_back(
            {.video = n, .frames = [selection](FrameReader& reader) { return reader.select(selection); }});
    }
    return batch.begin(workspace, std::move(videos), std::move(requests));
}

}  // namespace tricodec::plugin
