// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "codec_arguments.h"
#include "decompress_arrays.h"
#include "gpu_stream.h"
#include "tricodec/error.h"
#include "tricodec/tensor.h"

namespace tricodec::plugin {
namespace {

/// On the library's threads: DALI gives operators with outputs on a GPU none.
TaskRunner library_runner(int num_threads) {
    return [num_threads](std::vector<std::function<void()>>& tasks) { run_parallel(tasks, num_threads); };
}

/// The header of an array on a GPU; the host waits for the file.
NpyHeader read_device_header(const std::shared_ptr<Buffer>& file) {
    const auto size = static_cast<std::int64_t>(std::min(file->size_bytes(), kLargestNpyHeader));
    const TensorView start{
        .data = file->data(), .dtype = DType::uint8, .device = file->device(), .shape = {size}, .strides_bytes = {1}};
    const Tensor host = to_host(start, file.get());
    return read_npy_header({static_cast<const std::byte*>(host.view.data), static_cast<std::size_t>(size)},
                           file->size_bytes());
}

}  // namespace

DeviceDecompression::DeviceDecompression(const ::dali::OpSpec& spec, int num_threads)
    : request_(spec), device_(usable_gpu(spec, "decompress")), num_threads_(num_threads) {
    if (request_.trusted()) {
        translate_errors("",
                         [&] { codec_ = std::make_unique<compress::Codec>(request_.codec_options(spec, 0), device_); });
    } else {
        host_ = std::make_unique<HostDecompression>(spec, request_, num_threads);
    }
}

void DeviceDecompression::run(::dali::Workspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& streams) {
    expect_bytes(streams.type(), streams.sample_dim());
    if (!request_.trusted()) return run_on_host(workspace, streams);
    ::dali::TensorList<::dali::GPUBackend> moved;
    moved.set_device_id(device_.index);
    moved.set_order(workspace.output_order());
    moved.Copy(streams, workspace.output_order());
    run_on_device(workspace, moved);
}

void DeviceDecompression::run(::dali::Workspace& workspace, const ::dali::TensorList<::dali::GPUBackend>& streams) {
    expect_bytes(streams.type(), streams.sample_dim());
    if (request_.trusted()) return run_on_device(workspace, streams);
    ::dali::TensorList<::dali::CPUBackend> moved;
    moved.set_pinned(false);
    moved.Copy(streams, workspace.output_order());  // ordered by the host: it waits for the copy
    run_on_host(workspace, moved);
}

void DeviceDecompression::run_on_host(::dali::Workspace& workspace,
                                      const ::dali::TensorList<::dali::CPUBackend>& streams) {
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const TaskRunner runner = library_runner(num_threads_);
    const ::dali::OutputDesc described = host_->begin(views_of(streams), workspace, runner);
    // Not page-locked: the driver then keeps a copy of its own until the transfer is done.
    ::dali::TensorList<::dali::CPUBackend> decompressed;
    decompressed.set_pinned(false);
    decompressed.Resize(described.shape, described.type);
    host_->finish(decompressed, runner);
    output.Copy(decompressed, workspace.output_order());
    copy_source_info(streams, output);
}

void DeviceDecompression::run_on_device(::dali::Workspace& workspace,
                                        const ::dali::TensorList<::dali::GPUBackend>& streams) {
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const std::vector<ByteView> views = views_of(streams);
    name_samples(streams.num_samples(), [&] {
        if (request_.has_header()) return decompress_files(workspace, views);
        const StreamView stream = stream_of(workspace);
        const auto place = [&](std::span<const std::size_t> sizes) {
            const ::dali::OutputDesc described = request_.output(workspace, sizes);
            output.Resize(described.shape, described.type);
            return places_of(output);
        };
        codec_->decompress(views, BatchPlacer(place), stream);
    });
    copy_source_info(streams, output);
}

void DeviceDecompression::decompress_files(::dali::Workspace& workspace, std::span<const ByteView> streams) {
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    std::vector<std::shared_ptr<Buffer>> files(streams.size());
    const auto place = [&](std::size_t i, std::size_t size) {
        files[i] = Buffer::allocate(size, device_, stream);
        return MutableBytes(files[i]->data(), size);
    };
    codec_->decompress(streams, Placer(place), stream);
    std::vector<NpyHeader> headers;
    for (std::size_t i = 0; i < files.size(); ++i) {
        files[i]->written_on(stream);
        try {
            headers.push_back(read_device_header(files[i]));
        } catch (const Error& error) {
            throw BatchError(error, "sample", i, files.size());
        }
    }
    const ::dali::OutputDesc described = DecompressRequest::output(headers);
    output.Resize(described.shape, described.type);
    for (std::size_t i = 0; i < files.size(); ++i) {
        const int sample = static_cast<int>(i);
        copy_on_device(output.raw_mutable_tensor(sample), files[i]->data() + headers[i].header_bytes,
                       bytes_of(output, sample), device_.index, workspace.output_order());
        files[i]->used_on(stream);
    }
}

DecompressArraysMixed::DecompressArraysMixed(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), work_(spec, num_threads_) {}

bool DecompressArraysMixed::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/,
                                      const ::dali::Workspace& /*workspace*/) {
    return false;
}

void DecompressArraysMixed::RunImpl(::dali::Workspace& workspace) {
    work_.run(workspace, workspace.Input<::dali::CPUBackend>(0));
}

DecompressArraysGpu::DecompressArraysGpu(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), work_(spec, num_threads_) {}

bool DecompressArraysGpu::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/,
                                    const ::dali::Workspace& /*workspace*/) {
    return false;
}

void DecompressArraysGpu::RunImpl(::dali::Workspace& workspace) {
    work_.run(workspace, workspace.Input<::dali::GPUBackend>(0));
}

}  // namespace tricodec::plugin
