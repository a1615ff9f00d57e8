// SPDX-License-Identifier: Apache-2.0
#include "decode_video_mixed.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "gpu_stream.h"
#include "options.h"
#include "tricodec/thread_pool.h"

namespace tricodec::plugin {
namespace {

/// On the library's threads: DALI gives mixed operators none, and those that feed engines only wait for them.
void run_all(std::vector<VideoBatch::Task> tasks, int num_threads) {
    std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
    std::vector<std::function<void()>> work;
    for (auto& task : tasks) work.push_back(std::move(task.run));
    run_parallel(work, num_threads);
}

/// Not page-locked: the driver then keeps a copy of its own until a transfer is done.
::dali::TensorList<::dali::CPUBackend> list_on_host(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type) {
    ::dali::TensorList<::dali::CPUBackend> host;
    host.set_pinned(false);
    host.Resize(shape, type);
    return host;
}

}  // namespace

DecodeVideoMixed::DecodeVideoMixed(const ::dali::OpSpec& spec)
    : StatelessOperator(spec),
      device_(usable_gpu(spec, "decode_video")),
      batch_(spec, "auto:" + std::to_string(device_.index)) {}

bool DecodeVideoMixed::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    run_all(batch_.begin(workspace), num_threads_);
    return batch_.settle_shapes(outputs);
}

void DecodeVideoMixed::RunImpl(::dali::Workspace& workspace) {
    auto& frames = workspace.Output<::dali::GPUBackend>(0);
    auto& pts = workspace.Output<::dali::GPUBackend>(1);
    if (batch_.empty_on_error()) frames.Resize(batch_.frames_shape(), to_dali(batch_.dtype()));
    const VideoBatch::Destination destination{.data = [&](int sample) { return frames.raw_mutable_tensor(sample); },
                                              .device = device_,
                                              .stream = stream_of(workspace),
                                              .num_cores = num_threads_};
    run_all(batch_.decode(destination), batch_.num_threads(destination));
    batch_.finish();
    batch_.settle_errors();
    for (int i = 0; i < batch_.size(); ++i) {
        if (frames.tensor_shape(i)[0] == batch_.shape(i)[0]) continue;
        frames.ResizeSample(i, ::dali::TensorShape<>(batch_.shape(i)));  // emptied while it was decoded
    }
    if (batch_.empty_on_error()) pts.Resize(batch_.pts_shape(), DALI_FLOAT64);
    write_pts(pts, workspace);
    for (int i = 0; i < batch_.size(); ++i) {
        frames.SetSourceInfo(i, batch_.source(i));
        pts.SetSourceInfo(i, batch_.source(i));
    }
    frames.SetLayout(batch_.layout());
    pts.SetLayout("F");
    if (batch_.gives_damage()) write_damage(workspace);
    batch_.clear();
}

void DecodeVideoMixed::write_pts(::dali::TensorList<::dali::GPUBackend>& pts,
                                 const ::dali::Workspace& workspace) const {
    auto host = list_on_host(batch_.pts_shape(), DALI_FLOAT64);
    for (int i = 0; i < batch_.size(); ++i) {
        const auto& seconds = batch_.pts_seconds(i);
        if (!seconds.empty()) {
            std::memcpy(host.mutable_tensor<double>(i), seconds.data(), seconds.size() * sizeof(double));
        }
    }
    pts.Copy(host, workspace.output_order());
}

void DecodeVideoMixed::write_damage(::dali::Workspace& workspace) const {
    auto& counts = workspace.Output<::dali::GPUBackend>(2);
    auto host = list_on_host(batch_.damage_shape(), DALI_INT64);
    for (int i = 0; i < batch_.size(); ++i) {
        *host.mutable_tensor<std::int64_t>(i) = batch_.num_damaged_packets(i);
    }
    if (batch_.empty_on_error()) counts.Resize(batch_.damage_shape(), DALI_INT64);
    counts.Copy(host, workspace.output_order());
    for (int i = 0; i < batch_.size(); ++i) counts.SetSourceInfo(i, batch_.source(i));
}

}  // namespace tricodec::plugin
