// SPDX-License-Identifier: Apache-2.0
#include "transform_frames_gpu.h"

#include <cstddef>
#include <span>

#include "errors.h"
#include "gpu_stream.h"
#include "options.h"

namespace tricodec::plugin {

TransformFramesGpu::TransformFramesGpu(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), device_(usable_gpu(spec, "transform")), request_(spec) {}

bool TransformFramesGpu::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::GPUBackend>(0);
    samples_ = request_.read(workspace, input.shape(), input.type());
    outputs.resize(1);
    outputs[0] = request_.output(samples_, input.sample_dim());
    return true;
}

void TransformFramesGpu::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::GPUBackend>(0);
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    const DType dtype = request_.options().dtype;
    // Neighbours that share a Transform share launches.
    std::vector<Frame> frames;
    std::vector<TensorView> places;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        const auto& sample = samples_[i];
        const int number = static_cast<int>(i);
        // The pixels are only read, but a Frame has no other kind of pointer.
        auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(input.raw_tensor(number)));
        auto* to = static_cast<std::byte*>(output.raw_mutable_tensor(number));
        for (std::int64_t index = 0; index < sample.raw.num_frames; ++index) {
            frames.push_back(request_.frame(sample, from, index));
            frames.back().device = device_;
            places.push_back({.data = to + index * request_.frame_bytes(sample),
                              .dtype = dtype,
                              .device = device_,
                              .shape = sample.frame_shape,
                              .strides_bytes = contiguous_strides(sample.frame_shape, dtype)});
        }
        output.SetSourceInfo(number, input.GetMeta(number).GetSourceInfo());
        const bool last = i + 1 == samples_.size() || samples_[i + 1].transform != sample.transform;
        if (!last) continue;
        translate_errors("", [&] { (*sample.transform)(frames, std::span<const TensorView>(places), stream); });
        frames.clear();
        places.clear();
    }
    output.SetLayout(request_.output_layout(input.sample_dim()));
    samples_.clear();
}

}  // namespace tricodec::plugin
