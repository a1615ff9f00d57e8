// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/stream_index.h"
#include "tricodec/media/stream_info.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {

/// When the frames of an index are on screen, in seconds.
class FrameTimes {
public:
    FrameTimes(const StreamInfo& stream, std::shared_ptr<const StreamIndex> index);

    [[nodiscard]] const StreamIndex& index() const noexcept { return *index_; }
    /// One a frame. Frames without a time stamp follow the one before at the stream's frame rate.
    [[nodiscard]] const std::vector<double>& pts_seconds() const noexcept { return pts_seconds_; }
    /// What selections need to know. Valid as long as this object is.
    [[nodiscard]] VideoTimes video_times(bool damaged) const;

private:
    std::shared_ptr<const StreamIndex> index_;
    std::vector<double> pts_seconds_;
    std::vector<std::int64_t> key_frames_;
    double end_seconds_ = 0;
    double tick_seconds_ = 0;
};

}  // namespace tricodec
