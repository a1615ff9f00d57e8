// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tricodec/selection/frame_selection.h"

namespace tricodec {

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

}  // namespace tricodec
