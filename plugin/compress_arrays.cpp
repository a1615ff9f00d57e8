// SPDX-License-Identifier: Apache-2.0
#include "compress_arrays.h"

#include <cstring>
#include <string>

#include "codec_arguments.h"
#include "gpu_stream.h"
#include "tricodec/error.h"
#include "tricodec/npy_header.h"

namespace tricodec::plugin {
namespace {

CodecOptions read_compress_options(const ::dali::OpSpec& spec, int num_threads) {
    const CodecOptions options = read_codec_options(spec, num_threads);
    if (!options.algorithm) static_cast<void>(parse_compression(""));  // names the algorithms
    return options;
}

std::vector<std::byte> header_of(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type, int sample) {
    const auto extents = shape.tensor_shape_span(sample);
    return make_npy_header(typestr_of(type), std::vector<std::int64_t>(extents.begin(), extents.end()));
}

/// The samples' bytes, each behind its header, in memory of their own.
std::vector<std::shared_ptr<Buffer>> with_headers(const ::dali::TensorList<::dali::CPUBackend>& input,
                                                  const TaskRunner& runner) {
    std::vector<std::shared_ptr<Buffer>> files;
    std::vector<std::function<void()>> tasks;
    for (int i = 0; i < input.num_samples(); ++i) {
        const auto header = header_of(input.shape(), input.type(), i);
        const std::size_t size = bytes_of(input, i);
        files.push_back(Buffer::allocate(header.size() + size));
        std::byte* to = files.back()->data();
        std::memcpy(to, header.data(), header.size());
        if (size == 0) continue;
        tasks.emplace_back(
            [to = to + header.size(), from = input.raw_tensor(i), size] { std::memcpy(to, from, size); });
    }
    runner(tasks);
    return files;
}

}  // namespace

CompressArrays::CompressArrays(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), header_(spec.GetArgument<bool>("header")) {
    translate_errors("", [&] { codec_ = std::make_unique<Compressor>(read_compress_options(spec, num_threads_)); });
}

bool CompressArrays::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) {
    return false;  // sizes are known when all is compressed
}

void CompressArrays::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    auto& output = workspace.Output<::dali::CPUBackend>(0);
    const TaskRunner runner = runner_on(workspace.GetThreadPool());
    name_samples(input.num_samples(), [&] {
        std::vector<ByteView> views = views_of(input);
        std::vector<std::shared_ptr<Buffer>> files;
        if (header_) {
            files = with_headers(input, runner);
            for (std::size_t i = 0; i < files.size(); ++i) views[i] = files[i]->bytes();
        }
        const auto place = [&](std::span<const std::size_t> sizes) {
            resize_to_bytes(output, sizes);
            return places_of(output);
        };
        codec_->compress(views, place, runner);
    });
    copy_source_info(input, output);
}

CompressArraysGpu::CompressArraysGpu(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), device_(usable_gpu(spec, "compress")), header_(spec.GetArgument<bool>("header")) {
    translate_errors("", [&] {
        const CodecOptions options = read_compress_options(spec, 0);
        TRICODEC_EXPECT(!options.level, invalid_argument,
                        "level is an option of the CPU's compressors; leave it out, or pass device=\"cpu\"");
        codec_ = std::make_unique<GpuCodec>(options, device_);
    });
}

bool CompressArraysGpu::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/,
                                  const ::dali::Workspace& /*workspace*/) {
    return false;
}

void CompressArraysGpu::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::GPUBackend>(0);
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    const auto order = workspace.output_order();
    name_samples(input.num_samples(), [&] {
        std::vector<DeviceBytes> views = device_views(input);
        std::vector<std::shared_ptr<Buffer>> files;
        for (std::size_t i = 0; header_ && i < views.size(); ++i) {
            const auto header = header_of(input.shape(), input.type(), static_cast<int>(i));
            const auto file = Buffer::allocate(header.size() + views[i].size, device_, stream);
            copy_to_device(file->data(), header, device_.index, order);
            copy_on_device(file->data() + header.size(), views[i].data, views[i].size, device_.index, order);
            views[i] = {file->data(), file->size_bytes()};
            files.push_back(file);
        }
        const auto place = [&](std::span<const std::size_t> sizes) {
            resize_to_bytes(output, sizes);
            return device_views(output);
        };
        codec_->compress(views, place, stream);
        for (const auto& file : files) file->used_on(stream);
    });
    copy_source_info(input, output);
}

}  // namespace tricodec::plugin
