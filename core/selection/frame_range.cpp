// SPDX-License-Identifier: Apache-2.0
#include "selection/frame_range.h"

namespace tricodec {

std::vector<std::int64_t> clipped_numbers(const FrameRange& range, std::int64_t num_frames) {
    const auto available = num_selected(num_frames, range.start, range.stride);
    const bool all = range.count < 0 || range.count > available;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(all ? available : range.count));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = range.start + static_cast<std::int64_t>(i) * range.stride;
    return numbers;
}

std::string range_text(std::int64_t num_frames, bool damaged) {
    const std::string text = damaged ? "the video is damaged and has " : "the video has ";
    if (num_frames == 0) return text + "no frames";
    return text + std::to_string(num_frames) + " frames (0.." + std::to_string(num_frames - 1) + ")";
}

}  // namespace tricodec
