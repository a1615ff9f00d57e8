// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <variant>

#include "image/cuda/kernel_args.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/tensor/frame.h"

namespace tricodec::image::gpu {

/// One frame of a batch and the destination of its result.
struct Item {
    const Frame* frame = nullptr;
    Target target{};
};

/// The frames of one launch.
struct Batch {
    const Plan& plan;
    const std::byte* tables;      ///< the plan's, in the kernel's memory, at a multiple of 16
    std::span<const Item> items;  ///< 1 to kMaxFrames, of the plan's geometry; their targets have the same steps
};

/// All that the driver needs to start a kernel for up to kMaxFrames frames.
struct Launch {
    std::string kernel;
    unsigned blocks_x = 0;  ///< of a frame
    unsigned blocks_y = 0;
    unsigned blocks_z = 0;  ///< frames
    unsigned threads = 0;
    unsigned shared_bytes = 0;  ///< beyond what the kernel declares itself
    std::variant<TileArgs, ConvertArgs> args;
};

// The arguments that all kernels take in the same form, from a plan and the frames of a launch.

/// Blocks that cover `length`.
[[nodiscard]] constexpr unsigned blocks(int length, int each) {
    return static_cast<unsigned>((length + each - 1) / each);
}

/// The name of a kernel up to its element: see kernel_list.h. `bits` are 8, or 16 for all deeper samples.
[[nodiscard]] std::string kernel_name(const char* family, const Plan& plan);

[[nodiscard]] ColorArgs color_args(const ColorPlan& color);

/// Elements that the layout puts side by side.
[[nodiscard]] int group_size(const Plan& plan);

[[nodiscard]] OutputArgs output_args(const Plan& plan, const Target& target);

/// Whether the elements of each group are side by side in memory.
[[nodiscard]] bool has_dense_groups(const OutputArgs& output);

/// Whether a row of the grid is dense: groups, and points with no gap between them.
[[nodiscard]] bool has_dense_rows(const OutputArgs& output);

/// `planes` are the frame's, in the kernel's order.
[[nodiscard]] FrameArgs frame_args(const Item& item, const std::array<int, 3>& planes, int num_planes);

[[nodiscard]] bool is_multiple(const void* address, unsigned of);

/// Whether the planes and their strides are multiples of 16 bytes.
[[nodiscard]] bool has_aligned_planes(const FrameArgs& frame, int num_planes);

/// Whether the groups of every row of every frame begin at a multiple of `bytes`.
[[nodiscard]] bool has_aligned_groups(const OutputArgs& output, std::span<const FrameArgs> frames, unsigned bytes);

/// Whether every element of every frame is at a multiple of its size.
[[nodiscard]] bool has_aligned_elements(const OutputArgs& output, std::span<const FrameArgs> frames);

/// A table of the plan in the kernel's memory.
template <typename Value>
[[nodiscard]] const Value* table_at(const std::byte* tables, std::size_t offset) {
    return reinterpret_cast<const Value*>(tables + offset);
}

}  // namespace tricodec::image::gpu
