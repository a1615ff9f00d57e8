// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tricodec/selection/frame_selection.h"

namespace tricodec {

/// Note [Times of any order]: time stamps need not rise with the frames: files are joined, clocks are set, and single
/// packets are wrong. A time that a caller names is searched among the time stamps, in the order of time. What runs
/// along the video (a part, `fps`, a duration, an average rate) follows a playback clock instead, which rises. It is
/// the time stamps themselves where these rise. A few frames with times that do not lie between those of the frames
/// around them are placed evenly between these. Where time stamps start again, the clock continues with the duration of
/// the frame before.
class FrameClock {
public:
    /// `shown_seconds`: how long each frame is shown as its packet says, 0 unknown; it may be empty. `end_seconds`:
    /// when the last frame leaves the screen.
    FrameClock(std::vector<double> pts_seconds, std::vector<double> shown_seconds, double end_seconds);

    [[nodiscard]] const std::vector<double>& pts_seconds() const noexcept { return pts_seconds_; }
    /// All but tick_seconds, frame_rate and key_frames. Valid as long as this object is.
    [[nodiscard]] VideoTimes video_times() const;

private:
    void set_clock(std::vector<double> shown_seconds, double typical);

    std::vector<double> pts_seconds_;
    std::vector<std::int64_t> by_time_;
    std::vector<double> rising_seconds_;
    double end_seconds_ = 0;
    double clock_end_seconds_ = 0;
};

}  // namespace tricodec
