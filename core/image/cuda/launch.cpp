// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/launch.h"

#include <algorithm>
#include <cstdint>

namespace tricodec::image::gpu {
namespace {

Element element_of(DType dtype) {
    switch (dtype) {
        case DType::uint8:
            return Element::uint8;
        case DType::float16:
            return Element::float16;
        case DType::bfloat16:
            return Element::bfloat16;
        default:
            return Element::float32;
    }
}

}  // namespace

std::string kernel_name(const char* family, const Plan& plan) {
    return std::string("tricodec_") + family + (plan.bytes_per_sample == 1 ? "_8_" : "_16_") +
           std::string(to_string(plan.dtype));
}

ColorArgs color_args(const ColorPlan& color) {
    ColorArgs args{};
    args.num_channels = color.num_channels;
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(color.num_channels); ++channel) {
        args.fixed_bias[channel] = 1 << 18;
        for (std::size_t i = 0; i < 3; ++i) {
            args.fixed[channel][i] = color.fixed[channel][i];
            args.fixed_bias[channel] -= color.fixed[channel][i] * color.offset[i];
            args.factor[channel][i] = color.factor[channel][i];
        }
        args.bias[channel] = color.bias[channel];
        args.low[channel] = color.low[channel];
        args.high[channel] = color.high[channel];
    }
    for (std::size_t i = 0; i < 3; ++i) args.offset[i] = static_cast<float>(color.offset[i]);
    return args;
}

int group_size(const Plan& plan) {
    switch (plan.layout) {
        case Layout::hwc:
        case Layout::hwc8:
            return num_slots(plan.layout, plan.color.num_channels);
        case Layout::chw2:
            return 2;
        case Layout::chw:
            break;
    }
    return 1;
}

OutputArgs output_args(const Plan& plan, const Target& target) {
    OutputArgs args{};
    args.element = element_of(plan.dtype);
    args.element_bytes = static_cast<std::int32_t>(size_of(plan.dtype));
    args.group_size = group_size(plan);
    args.num_groups = target.num_slots / args.group_size;
    args.step_x = target.step_x;
    args.step_y = target.step_y;
    std::copy(target.slot_offset.begin(), target.slot_offset.end(), args.element_offset);
    return args;
}

bool has_dense_groups(const OutputArgs& output) {
    for (int i = 0; i < output.num_groups * output.group_size; ++i) {
        const std::int64_t start = output.element_offset[i / output.group_size * output.group_size];
        if (output.element_offset[i] != start + i % output.group_size * output.element_bytes) return false;
    }
    return true;
}

bool has_dense_rows(const OutputArgs& output) {
    return has_dense_groups(output) && output.step_x == std::int64_t{output.group_size} * output.element_bytes;
}

FrameArgs frame_args(const Item& item, const std::array<int, 3>& planes, int num_planes) {
    FrameArgs args{};
    for (int i = 0; i < num_planes; ++i) {
        const Plane& plane = item.frame->planes[static_cast<std::size_t>(planes[static_cast<std::size_t>(i)])];
        args.planes[i] = reinterpret_cast<const unsigned char*>(plane.data);
        args.strides[i] = static_cast<std::int32_t>(plane.stride_bytes);
    }
    args.out = reinterpret_cast<unsigned char*>(item.target.data);
    return args;
}

bool is_multiple(const void* address, unsigned of) {
    return reinterpret_cast<std::uintptr_t>(address) % of == 0;
}

bool has_aligned_planes(const FrameArgs& frame, int num_planes) {
    for (int i = 0; i < num_planes; ++i) {
        if (!is_multiple(frame.planes[i], 16) || frame.strides[i] % 16 != 0) return false;
    }
    return true;
}

bool has_aligned_groups(const OutputArgs& output, std::span<const FrameArgs> frames, unsigned bytes) {
    bool aligned = output.step_y % bytes == 0;
    for (int i = 0; i < output.num_groups; ++i) {
        aligned = aligned && output.element_offset[i * output.group_size] % bytes == 0;
    }
    return aligned &&
           std::ranges::all_of(frames, [&](const FrameArgs& frame) { return is_multiple(frame.out, bytes); });
}

bool has_aligned_elements(const OutputArgs& output, std::span<const FrameArgs> frames) {
    const auto is_aligned = [&](std::int64_t bytes) { return bytes % output.element_bytes == 0; };
    bool aligned = is_aligned(output.step_x) && is_aligned(output.step_y);
    for (int i = 0; i < output.num_groups * output.group_size; ++i) {
        aligned = aligned && is_aligned(output.element_offset[i]);
    }
    return aligned && std::ranges::all_of(frames, [&](const FrameArgs& frame) {
               return is_multiple(frame.out, static_cast<unsigned>(output.element_bytes));
           });
}

}  // namespace tricodec::image::gpu
