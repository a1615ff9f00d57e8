// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tricodec {

/// Frames from a number on, `stride` apart.
struct FrameRange {
    std::int64_t start = 0;
    std::int64_t stride = 1;
    std::int64_t count = -1;  ///< -1 = to the end
};

/// Frames from `start` to the end of `total`, every `stride`-th; 0 where `start` is outside.
[[nodiscard]] inline std::int64_t num_selected(std::int64_t total, std::int64_t start, std::int64_t stride) noexcept {
    return start < 0 || start >= total ? 0 : (total - start - 1) / stride + 1;
}

/// Numbers that a range with a start from 0 means in a video of `num_frames`, clipped to it.
[[nodiscard]] inline std::vector<std::int64_t> clipped_numbers(const FrameRange& range, std::int64_t num_frames) {
    const auto available = num_selected(num_frames, range.start, range.stride);
    const bool all = range.count < 0 || range.count > available;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(all ? available : range.count));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = range.start + static_cast<std::int64_t>(i) * range.stride;
    return numbers;
}

}  // namespace tricodec
