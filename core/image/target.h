// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "image/plan.h"
#include "tricodec/tensor.h"

namespace tricodec::image {

/// Where the samples of the source-oriented grid go: the strides of `out` seen through the plan's placement. Grid point
/// (x, y) of a channel is at data + x * step_x + y * step_y + channel * step_channel.
struct Target {
    std::byte* data = nullptr;
    std::ptrdiff_t step_x = 0;
    std::ptrdiff_t step_y = 0;
    std::ptrdiff_t step_channel = 0;
};

[[nodiscard]] inline Target target_of(const Plan& plan, const TensorView& out) {
    const bool hwc = plan.layout == Layout::hwc;
    const std::ptrdiff_t row = out.strides_bytes[hwc ? 0 : 1];
    const std::ptrdiff_t column = out.strides_bytes[hwc ? 1 : 2];
    const Placement& at = plan.placement;
    return {static_cast<std::byte*>(out.data) + at.row_0 * row + at.column_0 * column,
            at.row_per_x * row + at.column_per_x * column, at.row_per_y * row + at.column_per_y * column,
            out.strides_bytes[hwc ? 2 : 0]};
}

}  // namespace tricodec::image
