// SPDX-License-Identifier: Apache-2.0
#include "encode_video_gpu.h"

#include <cstring>
#include <functional>
#include <string>

#include "gpu_stream.h"
#include "tricodec/thread_pool.h"

namespace tricodec::plugin {

EncodeVideoGpu::EncodeVideoGpu(const ::dali::OpSpec& spec)
    : StatelessOperator(spec),
      device_(usable_gpu(spec, "encode_video")),
      batch_(spec, "auto:" + std::to_string(device_.index)) {}

void EncodeVideoGpu::RunImpl(::dali::Workspace& workspace) {
    const auto& frames = workspace.Input<::dali::GPUBackend>(0);
    auto& files = workspace.Output<::dali::GPUBackend>(0);
    batch_.begin(workspace, frames.shape(), frames.type(), frames.GetLayout().str());
    const auto times = read_pts(workspace);
    const StreamView stream = stream_of(workspace);
    std::vector<std::function<void()>> tasks;
    for (int i = 0; i < batch_.size(); ++i) {
        const std::span<const double> pts =
            times.empty() ? std::span<const double>{} : times[static_cast<std::size_t>(i)];
        auto buffer =
            Buffer::borrow(const_cast<void*>(frames.raw_tensor(i)), batch_.input_bytes(i), nullptr, device_, stream);
        tasks.emplace_back([this, &frames, i, pts, buffer = std::move(buffer)] {
            batch_.encode(i, frames.raw_tensor(i), device_, buffer, pts);
        });
    }
    run_parallel(tasks, num_threads_);  // on the library's threads: DALI gives operators of a GPU none
    tasks.clear();
    batch_.settle_errors();
    // Not page-locked: the driver then keeps a copy of its own until the transfer is done.
    ::dali::TensorList<::dali::CPUBackend> host;
    host.set_pinned(false);
    host.Resize(batch_.file_shapes(), DALI_UINT8);
    for (int i = 0; i < batch_.size(); ++i) {
        const auto file = batch_.file(i);
        std::memcpy(host.mutable_tensor<std::uint8_t>(i), file.data(), file.size());
    }
    files.Copy(host, workspace.output_order());
    for (int i = 0; i < batch_.size(); ++i) files.SetSourceInfo(i, frames.GetMeta(i).GetSourceInfo());
    batch_.clear();
}

}  // namespace tricodec::plugin
