// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/plan.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

inline constexpr int kMaxSlots = 8;

/// Elements that a layout has for each grid point: its channels, then those that only pad and are zero.
[[nodiscard]] constexpr int num_slots(Layout layout, int num_channels) noexcept {
    const int multiple = layout == Layout::chw2 ? 2 : layout == Layout::hwc8 ? 8 : 1;
    return (num_channels + multiple - 1) / multiple * multiple;
}

[[nodiscard]] inline std::vector<std::int64_t> shape_of(const Size& size, int num_channels, Layout layout) {
    const int slots = num_slots(layout, num_channels);
    if (layout == Layout::chw) return {slots, size.height, size.width};
    if (layout == Layout::chw2) return {slots / 2, size.height, size.width, 2};
    return {size.height, size.width, slots};
}

/// Where the samples of the source-oriented grid go: the strides of `out` seen through the plan's placement. Element
/// `slot` of grid point (x, y) is at data + x * step_x + y * step_y + slot_offset[slot].
struct Target {
    std::byte* data = nullptr;
    std::ptrdiff_t step_x = 0;
    std::ptrdiff_t step_y = 0;
    int num_slots = 0;  ///< those after the plan's channels are padding
    std::array<std::ptrdiff_t, kMaxSlots> slot_offset{};
};

[[nodiscard]] inline Target target_of(const Plan& plan, const TensorView& out) {
    const auto& strides = out.strides_bytes;
    const std::size_t first = plan.layout == Layout::chw || plan.layout == Layout::chw2 ? 1 : 0;  // axis of rows
    const std::ptrdiff_t row = strides[first];
    const std::ptrdiff_t column = strides[first + 1];
    const Placement& at = plan.placement;
    Target target{static_cast<std::byte*>(out.data) + at.row_0 * row + at.column_0 * column,
                  at.row_per_x * row + at.column_per_x * column,
                  at.row_per_y * row + at.column_per_y * column,
                  num_slots(plan.layout, plan.color.num_channels),
                  {}};
    for (int i = 0; i < target.num_slots; ++i) {
        auto& offset = target.slot_offset[static_cast<std::size_t>(i)];
        if (plan.layout == Layout::chw2) {
            offset = i / 2 * strides[0] + i % 2 * strides[3];
        } else {
            offset = i * strides[plan.layout == Layout::chw ? 0 : 2];
        }
    }
    return target;
}

}  // namespace tricodec::image
