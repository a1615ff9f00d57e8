// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>

#include "image/cuda/kernel_args.h"
#include "image/cuda/kernel_plan.h"

namespace tricodec::image::gpu {

// What all kernels are given in the same way, from a plan and the frames of a launch.

[[nodiscard]] ColorArgs color_args(const ColorPlan& color);

/// The output channels of red, green and blue, if red needs no U and blue no V.
[[nodiscard]] std::optional<std::array<int, 3>> rgb_channels(const Plan& plan);

/// Elements that the layout puts side by side.
[[nodiscard]] int group_size(const Plan& plan);

[[nodiscard]] OutputArgs output_args(const Plan& plan, const Target& target);

/// Whether the elements of a group are side by side in memory.
[[nodiscard]] bool has_whole_groups(const OutputArgs& output);

/// `planes` are the frame's, in the kernel's order.
[[nodiscard]] FrameArgs frame_args(const Item& item, const std::array<int, 3>& planes, int num_planes);

[[nodiscard]] bool is_multiple(const void* address, unsigned of);

/// Whether every element of every frame is at a multiple of its size.
[[nodiscard]] bool has_whole_elements(const OutputArgs& output, std::span<const FrameArgs> frames);

}  // namespace tricodec::image::gpu
