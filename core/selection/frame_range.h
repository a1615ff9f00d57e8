// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tricodec {

/// Frames from a number on, `stride` apart.
struct FrameRange {
    std::int64_t start = 0;
    std::int64_t stride = 1;
    std::int64_t count = -1;  ///< -1 = to the end
};

/// What a selection means as the frames are numbered now: with a start from 0, in range. Throws Error(out_of_range). An
/// iterator asks again until it has given a frame: Note [Frames that are not there].
using ResolveSelection = std::function<FrameRange()>;

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

/// "the video has 50 frames (0..49)", for messages.
[[nodiscard]] inline std::string range_text(std::int64_t num_frames) {
    const std::string text = "the video has ";
    if (num_frames == 0) return text + "no frames";
    return text + std::to_string(num_frames) + " frames (0.." + std::to_string(num_frames - 1) + ")";
}

}  // namespace tricodec
