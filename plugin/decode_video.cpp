// SPDX-License-Identifier: Apache-2.0
#include "decode_video.h"

#include <cstring>

#include "options.h"

namespace tricodec::plugin {
namespace {

void run_all(const std::vector<VideoBatch::Task>& tasks, ::dali::ThreadPool& pool) {
    for (const auto& task : tasks) {
        pool.AddWork([&task](int /*thread*/) { task.run(); }, task.cost);
    }
    pool.RunAll();
}

}  // namespace

DecodeVideo::DecodeVideo(const ::dali::OpSpec& spec) : StatelessOperator(spec), batch_(spec, "cpu") {}

bool DecodeVideo::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    run_all(batch_.begin(workspace), workspace.GetThreadPool());
    return batch_.settle_shapes(outputs);
}

void DecodeVideo::RunImpl(::dali::Workspace& workspace) {
    auto& frames = workspace.Output<::dali::CPUBackend>(0);
    auto& pts = workspace.Output<::dali::CPUBackend>(1);
    if (batch_.empty_on_error()) {
        frames.Resize(batch_.frames_shape(), to_dali(batch_.dtype()));
        pts.Resize(batch_.pts_shape(), DALI_FLOAT64);
    }
    auto& pool = workspace.GetThreadPool();
    run_all(batch_.decode({.data = [&](int sample) { return frames.raw_mutable_tensor(sample); },
                           .num_cores = pool.NumThreads()}),
            pool);
    batch_.finish();
    batch_.settle_errors();
    for (int i = 0; i < batch_.size(); ++i) {
        if (frames.tensor_shape(i)[0] != batch_.shape(i)[0]) {  // emptied while it was decoded
            frames.ResizeSample(i, ::dali::TensorShape<>(batch_.shape(i)));
            pts.ResizeSample(i, ::dali::TensorShape<>{0});
        }
        const auto& seconds = batch_.pts_seconds(i);
        if (!seconds.empty()) {
            std::memcpy(pts.mutable_tensor<double>(i), seconds.data(), seconds.size() * sizeof(double));
        }
        frames.SetSourceInfo(i, batch_.source(i));
        pts.SetSourceInfo(i, batch_.source(i));
    }
    frames.SetLayout(batch_.layout());
    pts.SetLayout("F");
    if (batch_.gives_damage()) write_damage(workspace);
    batch_.clear();
}

void DecodeVideo::write_damage(::dali::Workspace& workspace) const {
    auto& counts = workspace.Output<::dali::CPUBackend>(2);
    if (batch_.empty_on_error()) counts.Resize(batch_.damage_shape(), DALI_INT64);
    for (int i = 0; i < batch_.size(); ++i) {
        *counts.mutable_tensor<std::int64_t>(i) = batch_.num_damaged_packets(i);
        counts.SetSourceInfo(i, batch_.source(i));
    }
}

}  // namespace tricodec::plugin
