// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {

[[nodiscard]] inline std::int64_t size_of(const VideoTimes& video) noexcept {
    return static_cast<std::int64_t>(video.pts_seconds.size());
}
[[nodiscard]] inline double time_of(std::int64_t frame, const VideoTimes& video) noexcept {
    return video.pts_seconds[static_cast<std::size_t>(frame)];
}

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
/// The frame, counted from the end if it is negative, and the start of a selection. Both throw Error(out_of_range).
[[nodiscard]] inline std::int64_t checked_frame(std::int64_t number, std::int64_t num_frames) {
    const auto counted = number < 0 ? number + num_frames : number;
    TRICODEC_EXPECT(counted >= 0 && counted < num_frames, out_of_range,
                    "frame " + std::to_string(number) + " was asked for; " + range_text(num_frames));
    return counted;
}
[[nodiscard]] inline std::int64_t checked_start(std::int64_t start, std::int64_t num_frames) {
    const auto counted = start < 0 ? start + num_frames : start;
    TRICODEC_EXPECT(counted >= 0 && (counted < num_frames || (counted == 0 && num_frames == 0)), out_of_range,
                    "start is " + std::to_string(start) + "; " + range_text(num_frames));
    return counted;
}

/// "3.25 s", with as many digits as tell the number from others.
[[nodiscard]] std::string seconds_text(double seconds);

/// Note [Times in float32]: the number that a value means where it is no frame's time.
[[nodiscard]] double meant_number(double value);
/// The time that a value means for a video: that of the frame with this float32, else meant_number().
[[nodiscard]] double meant_time(double value, const VideoTimes& video);
/// meant_time(), or the frame's time from which it differs by rounding only: to microseconds, or, for `i / frame rate`,
/// to the ticks of the container.
[[nodiscard]] double meant_instant(double value, const VideoTimes& video);

/// The frame with the nearest time, of two the earlier. The video has frames.
[[nodiscard]] std::int64_t nearest_frame(double seconds, const VideoTimes& video);
/// The frame with the greatest time at or before it, of equal times the last one, or -1.
[[nodiscard]] std::int64_t frame_on_screen(double seconds, const VideoTimes& video);

/// How times become frames.
struct TimeRule {
    TimePolicy policy = TimePolicy::nearest;
    std::optional<double> tolerance_s{};
    double slack_seconds = 0;    ///< a frame that begins so little after the time is on screen
    const char* what = "time";   ///< for messages
    std::int64_t position = -1;  ///< the entry of `times`, for messages; -1 none
};
/// Throws Error(out_of_range) naming the time and its nearest frame.
[[nodiscard]] std::int64_t frame_at(double seconds, const TimeRule& rule, const VideoTimes& video);

/// Frames first..last of a video, on screen from begin_seconds to end_seconds.
struct VideoPart {
    std::int64_t first = 0;
    std::int64_t last = 0;
    double begin_seconds = 0;
    double end_seconds = 0;

    [[nodiscard]] std::int64_t num_frames() const noexcept { return last - first + 1; }
};

/// Whole numbers from `first` to `last`, evenly, rounded half to even: what numpy.linspace(...).round() gives.
[[nodiscard]] std::vector<std::int64_t> evenly(std::int64_t first, std::int64_t last, std::int64_t count);
/// Throws Error(refused) for more frames than a selection may have.
void expect_few_enough(double num_frames);

/// The frames that a rule chooses. `selection.sampling` is set and valid. Throws Error(out_of_range) if the video is
/// too short for the rule.
[[nodiscard]] std::vector<std::int64_t> sample_frames(const FrameSelection& selection, const VideoPart& part,
                                                      const VideoTimes& video);

}  // namespace tricodec
