// SPDX-License-Identifier: Apache-2.0
#include "video_outputs.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "gpu_stream.h"
#include "options.h"
#include "tricodec/thread_pool.h"

namespace tricodec::plugin {
namespace {

/// Not page-locked: the driver then keeps a copy of its own until a transfer is done.
::dali::TensorList<::dali::CPUBackend> list_on_host(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type) {
    ::dali::TensorList<::dali::CPUBackend> host;
    host.set_pinned(false);
    host.Resize(shape, type);
    return host;
}

void write_pts(const VideoBatch& batch, ::dali::TensorList<::dali::CPUBackend>& pts) {
    for (int i = 0; i < batch.size(); ++i) {
        const auto& seconds = batch.pts_seconds(i);
        if (!seconds.empty()) {
            std::memcpy(pts.mutable_tensor<double>(i), seconds.data(), seconds.size() * sizeof(double));
        }
    }
}

template <typename T>
void write_integers_as(const VideoBatch::Integers& integers, ::dali::TensorList<::dali::CPUBackend>& output) {
    for (std::size_t i = 0; i < integers.samples.size(); ++i) {
        if (integers.samples[i].empty()) continue;
        std::ranges::transform(integers.samples[i], output.mutable_tensor<T>(static_cast<int>(i)),
                               [](std::int64_t value) { return static_cast<T>(value); });
    }
}

void write_integers(const VideoBatch::Integers& integers, ::dali::TensorList<::dali::CPUBackend>& output) {
    if (integers.type == DALI_INT64) return write_integers_as<std::int64_t>(integers, output);
    write_integers_as<std::int32_t>(integers, output);
}

/// What DALI keeps beside the bytes.
template <typename Backend>
void describe_outputs(const VideoBatch& batch, ::dali::Workspace& workspace) {
    for (int o = 0; o < workspace.NumOutput(); ++o) {
        auto& output = workspace.Output<Backend>(o);
        for (int i = 0; i < batch.size(); ++i) output.SetSourceInfo(i, batch.source(i));
    }
    workspace.Output<Backend>(0).SetLayout(batch.layout());
    workspace.Output<Backend>(1).SetLayout("F");
}

void copy_bytes(void* to, const void* from, std::size_t size, ::dali::Workspace& /*workspace*/,
                const ::dali::TensorList<::dali::CPUBackend>& /*list*/) {
    if (size > 0) std::memcpy(to, from, size);
}

void copy_bytes(void* to, const void* from, std::size_t size, ::dali::Workspace& workspace,
                const ::dali::TensorList<::dali::GPUBackend>& list) {
    copy_on_device(to, from, size, list.device_id(), workspace.output_order());
}

/// Shortens samples that have fewer frames than were planned, and keeps those frames. DALI refuses to resize one sample
/// of a contiguous output, and a sample that it resizes to less than half loses its data: the frames are kept aside.
template <typename Backend>
void shorten_frames(const VideoBatch& batch, ::dali::Workspace& workspace) {
    auto& frames = workspace.Output<Backend>(0);
    const auto shape = batch.frames_shape();
    if (frames.shape() == shape) return;
    ::dali::TensorList<Backend> kept;
    if constexpr (std::is_same_v<Backend, ::dali::GPUBackend>) {
        kept.set_device_id(frames.device_id());
        kept.set_order(workspace.output_order());
    } else {
        kept.set_pinned(false);
    }
    kept.Resize(shape, frames.type());
    const std::size_t element = frames.type_info().size();
    for (int i = 0; i < batch.size(); ++i) {
        const auto size = static_cast<std::size_t>(shape.tensor_size(i)) * element;
        copy_bytes(kept.raw_mutable_tensor(i), frames.raw_tensor(i), size, workspace, frames);
    }
    frames.Resize(shape, kept.type());
    frames.Copy(kept, workspace.output_order());
}

/// Outputs are as long as the batch says, now that samples may have become shorter.
template <typename Backend>
void resize_outputs(const VideoBatch& batch, ::dali::Workspace& workspace) {
    shorten_frames<Backend>(batch, workspace);
    workspace.Output<Backend>(1).Resize(batch.pts_shape(), DALI_FLOAT64);
    int o = 2;
    for (const auto& integers : batch.integers()) {
        workspace.Output<Backend>(o++).Resize(VideoBatch::shape_of(integers), integers.type);
    }
}

}  // namespace

void run_all(const std::vector<VideoBatch::Task>& tasks, ::dali::ThreadPool& pool) {
    for (const auto& task : tasks) {
        pool.AddWork([&task](int /*thread*/) { task.run(); }, task.cost);
    }
    pool.RunAll();
}

void run_all(std::vector<VideoBatch::Task> tasks, int num_threads) {
    std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
    std::vector<std::function<void()>> work;
    for (auto& task : tasks) work.push_back(std::move(task.run));
    run_parallel(work, num_threads);
}

void decode_on_cpu(VideoBatch& batch, ::dali::Workspace& workspace) {
    auto& frames = workspace.Output<::dali::CPUBackend>(0);
    if (batch.empty_on_error()) frames.Resize(batch.frames_shape(), to_dali(batch.dtype()));
    auto& pool = workspace.GetThreadPool();
    run_all(batch.decode({.data = [&](int sample) { return frames.raw_mutable_tensor(sample); },
                          .num_cores = pool.NumThreads()}),
            pool);
    batch.finish();
    batch.settle_errors();
    resize_outputs<::dali::CPUBackend>(batch, workspace);
    for (int i = 0; i < batch.size(); ++i) {
        const auto [offset, bytes] = batch.padding(i);
        if (bytes.empty()) continue;
        std::memcpy(static_cast<std::byte*>(frames.raw_mutable_tensor(i)) + offset, bytes.data(), bytes.size());
    }
    write_pts(batch, workspace.Output<::dali::CPUBackend>(1));
    int o = 2;
    for (const auto& integers : batch.integers()) write_integers(integers, workspace.Output<::dali::CPUBackend>(o++));
    describe_outputs<::dali::CPUBackend>(batch, workspace);
    batch.clear();
}

void decode_on_gpu(VideoBatch& batch, ::dali::Workspace& workspace, Device device, int num_threads) {
    auto& frames = workspace.Output<::dali::GPUBackend>(0);
    if (batch.empty_on_error()) frames.Resize(batch.frames_shape(), to_dali(batch.dtype()));
    const VideoBatch::Destination destination{.data = [&](int sample) { return frames.raw_mutable_tensor(sample); },
                                              .device = device,
                                              .stream = stream_of(workspace),
                                              .num_cores = num_threads};
    run_all(batch.decode(destination), batch.num_threads(destination));
    batch.finish();
    batch.settle_errors();
    resize_outputs<::dali::GPUBackend>(batch, workspace);
    for (int i = 0; i < batch.size(); ++i) {
        const auto [offset, bytes] = batch.padding(i);
        copy_to_device(static_cast<std::byte*>(frames.raw_mutable_tensor(i)) + offset, bytes, device.index,
                       workspace.output_order());
    }
    auto pts = list_on_host(batch.pts_shape(), DALI_FLOAT64);
    write_pts(batch, pts);
    workspace.Output<::dali::GPUBackend>(1).Copy(pts, workspace.output_order());
    int o = 2;
    for (const auto& integers : batch.integers()) {
        auto host = list_on_host(VideoBatch::shape_of(integers), integers.type);
        write_integers(integers, host);
        workspace.Output<::dali::GPUBackend>(o++).Copy(host, workspace.output_order());
    }
    describe_outputs<::dali::GPUBackend>(batch, workspace);
    batch.clear();
}

}  // namespace tricodec::plugin
