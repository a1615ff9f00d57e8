// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/launch_args.h"

#include <algorithm>

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

bool has_whole_groups(const OutputArgs& output) {
    for (int i = 0; i < output.num_groups * output.group_size; ++i) {
        const std::int64_t start = output.element_offset[i / output.group_size * output.group_size];
        if (output.element_offset[i] != start + i % output.group_size * output.element_bytes) return false;
    }
    return true;
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

std::optional<std::array<int, 3>> rgb_channels(const Plan& plan) {
    if (plan.color.num_channels != 3) return std::nullopt;
    const auto is_zero = [&](std::size_t channel, std::size_t component) {
        return plan.dtype == DType::uint8 ? plan.color.fixed[channel][component] == 0
                                          : plan.color.factor[channel][component] == 0.0F;
    };
    if (is_zero(0, 1) && is_zero(2, 2)) return std::array<int, 3>{0, 1, 2};
    if (is_zero(2, 1) && is_zero(0, 2)) return std::array<int, 3>{2, 1, 0};
    return std::nullopt;
}

bool is_multiple(const void* address, unsigned of) {
    return reinterpret_cast<std::uintptr_t>(address) % of == 0;
}

bool has_whole_elements(const OutputArgs& output, std::span<const FrameArgs> frames) {
    const auto is_whole = [&](std::int64_t bytes) { return bytes % output.element_bytes == 0; };
    bool whole = is_whole(output.step_x) && is_whole(output.step_y);
    for (int i = 0; i < output.num_groups * output.group_size; ++i) {
        whole = whole && is_whole(output.element_offset[i]);
    }
    for (const FrameArgs& frame : frames) {
        whole = whole && is_multiple(frame.out, static_cast<unsigned>(output.element_bytes));
    }
    return whole;
}

}  // namespace tricodec::image::gpu
