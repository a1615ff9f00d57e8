// SPDX-License-Identifier: Apache-2.0
#include "compress_arrays.h"

#include <cstring>
#include <functional>

#include "codec_arguments.h"
#include "gpu_stream.h"
#include "tricodec/error.h"
#include "tricodec/npy_header.h"

namespace tricodec::plugin {
namespace {

std::vector<std::byte> header_of(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type, int sample) {
    const auto extents = shape.tensor_shape_span(sample);
    return make_npy_header(typestr_of(type), std::vector<std::int64_t>(extents.begin(), extents.end()));
}

}  // namespace

template <typename Backend>
CompressArrays<Backend>::CompressArrays(const ::dali::OpSpec& spec) : ::dali::StatelessOperator<Backend>(spec) {
    if constexpr (kOnGpu) device_ = usable_gpu(spec, "compress");
    translate_errors("", [&] {
        TRICODEC_EXPECT(!kOnGpu || !spec.ArgumentDefined("level"), invalid_argument,
                        "level is an option of the CPU's compressors; leave it out, or pass device=\"cpu\"");
        codecs_ = std::make_unique<SampleCodecs>(spec, kOnGpu ? 0 : this->num_threads_, device_);
    });
}

template <typename Backend>
compress::Execution CompressArrays<Backend>::execution(::dali::Workspace& workspace) const {
    if constexpr (kOnGpu) {
        return stream_of(workspace);
    } else {
        return runner_on(workspace.GetThreadPool());
    }
}

template <typename Backend>
std::vector<std::shared_ptr<Buffer>> CompressArrays<Backend>::with_headers(const ::dali::TensorList<Backend>& input,
                                                                           const ::dali::Workspace& workspace,
                                                                           const compress::Execution& on) const {
    std::vector<std::shared_ptr<Buffer>> files;
    std::vector<std::function<void()>> copies;
    for (int i = 0; i < input.num_samples(); ++i) {
        const auto header = header_of(input.shape(), input.type(), i);
        const std::size_t size = bytes_of(input, i);
        files.push_back(Buffer::allocate(header.size() + size, device_, on.stream));
        std::byte* const to = files.back()->data();
        const auto* const from = static_cast<const std::byte*>(input.raw_tensor(i));
        if constexpr (kOnGpu) {
            const auto order = workspace.output_order();
            copy_to_device(to, header, device_.index, order);
            copy_on_device(to + header.size(), from, size, device_.index, order);
        } else {
            std::memcpy(to, header.data(), header.size());
            if (size == 0) continue;
            copies.emplace_back([to = to + header.size(), from, size] { std::memcpy(to, from, size); });
        }
    }
    if (on.runner) on.runner(copies);
    return files;
}

template <typename Backend>
void CompressArrays<Backend>::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<Backend>(0);
    auto& output = workspace.Output<Backend>(0);
    const compress::Execution on = execution(workspace);
    name_samples(input.num_samples(), [&] {
        const std::vector<const compress::Codec*> codecs = codecs_->of(workspace, input.num_samples());
        std::vector<ByteView> views = views_of(input);
        std::vector<std::shared_ptr<Buffer>> files;
        if (codecs_->request().has_header()) {
            files = with_headers(input, workspace, on);
            for (std::size_t i = 0; i < files.size(); ++i) views[i] = {files[i]->data(), files[i]->size_bytes()};
        }
        std::vector<compress::Codec::Job> jobs;
        for (std::size_t i = 0; i < views.size(); ++i) jobs.push_back({codecs[i], views[i]});
        const auto place = [&](std::span<const std::size_t> sizes) {
            resize_to_bytes(output, sizes);
            return places_of(output);
        };
        compress::Codec::compress_each(jobs, place, on);
        if constexpr (kOnGpu) Buffer::used_on(files, on.stream);
    });
    copy_source_info(input, output);
}

template class CompressArrays<::dali::CPUBackend>;
template class CompressArrays<::dali::GPUBackend>;

}  // namespace tricodec::plugin
