// SPDX-License-Identifier: Apache-2.0
#include "decompress_arrays.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "codec_arguments.h"
#include "tricodec/error.h"

namespace tricodec::plugin {

HostDecompression::HostDecompression(const ::dali::OpSpec& spec, const DecompressRequest& request, int num_threads)
    : request_(request) {
    translate_errors("", [&] { codec_ = std::make_unique<compress::Codec>(request.codec_options(spec, num_threads)); });
}

::dali::OutputDesc HostDecompression::begin(std::vector<ByteView> streams, const ::dali::ArgumentWorkspace& workspace,
                                            const TaskRunner& runner) {
    clear();
    streams_ = std::move(streams);
    return name_samples(static_cast<int>(streams_.size()), [&] {
        const std::vector<std::size_t> sizes = codec_->decompressed_sizes(streams_);
        if (!request_.has_header()) return request_.output(workspace, sizes);
        std::vector<std::span<std::byte>> places;
        for (const std::size_t size : sizes) {
            files_.push_back(Buffer::allocate(size));
            places.push_back(files_.back()->bytes());
        }
        codec_->decompress(streams_, places, runner);
        for (std::size_t i = 0; i < files_.size(); ++i) {
            try {
                const std::span<const std::byte> bytes = files_[i]->bytes();
                headers_.push_back(read_npy_header(bytes.first(std::min(bytes.size(), kLargestNpyHeader)), sizes[i]));
            } catch (const Error& error) {
                throw BatchError(error, "sample", i, files_.size());
            }
        }
        return DecompressRequest::output(headers_);
    });
}

void HostDecompression::finish(::dali::TensorList<::dali::CPUBackend>& output, const TaskRunner& runner) {
    const int num_samples = static_cast<int>(streams_.size());
    if (request_.has_header()) {
        std::vector<std::function<void()>> tasks;
        for (int i = 0; i < num_samples; ++i) {
            const auto n = static_cast<std::size_t>(i);
            const std::size_t size = bytes_of(output, i);
            if (size == 0) continue;
            tasks.emplace_back([to = output.raw_mutable_tensor(i), from = files_[n]->data() + headers_[n].header_bytes,
                                size] { std::memcpy(to, from, size); });
        }
        runner(tasks);
    } else {
        name_samples(num_samples, [&] { codec_->decompress(streams_, places_of(output), runner); });
    }
    clear();
}

void HostDecompression::clear() {
    streams_.clear();
    headers_.clear();
    files_.clear();
}

DecompressArrays::DecompressArrays(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), request_(spec), host_(spec, request_, num_threads_) {}

bool DecompressArrays::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    expect_bytes(input.type(), input.sample_dim());
    outputs.resize(1);
    outputs[0] = host_.begin(views_of(input), workspace, runner_on(workspace.GetThreadPool()));
    return true;
}

void DecompressArrays::RunImpl(::dali::Workspace& workspace) {
    auto& output = workspace.Output<::dali::CPUBackend>(0);
    host_.finish(output, runner_on(workspace.GetThreadPool()));
    copy_source_info(workspace.Input<::dali::CPUBackend>(0), output);
}

}  // namespace tricodec::plugin
