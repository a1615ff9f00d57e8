// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/stream_index.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/selection/frame_clock.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {

/// How long so many frames are on screen at the stream's rate, in units of its time base.
[[nodiscard]] std::int64_t ticks_of_frames(const StreamInfo& stream, std::int64_t count);
/// The time stamp of a frame of an index in units of the time base. Frames without one follow the one before at the
/// stream's frame rate.
[[nodiscard]] std::int64_t pts_of_frame(const StreamInfo& stream, const StreamIndex& index, std::int64_t number);

/// When the frames of an index are on screen, in seconds.
class FrameTimes {
public:
    FrameTimes(const StreamInfo& stream, std::shared_ptr<const StreamIndex> index);

    [[nodiscard]] const StreamIndex& index() const noexcept { return *index_; }
    /// One a frame, as pts_of_frame().
    [[nodiscard]] const std::vector<double>& pts_seconds() const noexcept { return clock_.pts_seconds(); }
    /// What selections need to know. Valid as long as this object is.
    [[nodiscard]] VideoTimes video_times() const;

private:
    std::shared_ptr<const StreamIndex> index_;
    std::vector<std::int64_t> key_frames_;
    double frame_rate_ = 0;  // 0 unknown
    double tick_seconds_ = 0;
    FrameClock clock_;
};

}  // namespace tricodec
