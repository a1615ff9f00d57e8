// SPDX-License-Identifier: Apache-2.0
#include "index/frame_times.h"

#include <utility>

namespace tricodec {
namespace {

constexpr double kAssumedFrameRate = 25.0;  // FFmpeg's own assumption for streams that state none

}  // namespace

FrameTimes::FrameTimes(const StreamInfo& stream, std::shared_ptr<const StreamIndex> index)
    : index_(std::move(index)), key_frames_(index_->entry_frames()) {
    const double rate = stream.average_frame_rate.num > 0 ? stream.average_frame_rate.to_double()
                        : stream.real_frame_rate.num > 0  ? stream.real_frame_rate.to_double()
                                                          : kAssumedFrameRate;
    const auto num = static_cast<double>(stream.time_base.num);
    const auto den = static_cast<double>(stream.time_base.den);
    pts_seconds_.reserve(index_->frames().size());
    double last_time = -1.0 / rate;
    for (const auto& frame : index_->frames()) {
        last_time = frame.pts == kNoTimestamp ? last_time + 1.0 / rate : static_cast<double>(frame.pts) * num / den;
        pts_seconds_.push_back(last_time);
    }
    if (pts_seconds_.empty()) return;
    const auto& last = index_->frames().back();
    const auto count = static_cast<double>(pts_seconds_.size());
    const double shown = last.duration > 0 ? static_cast<double>(last.duration) * stream.time_base.to_double()
                         : count > 1       ? (pts_seconds_.back() - pts_seconds_.front()) / (count - 1)
                                           : 1.0 / kAssumedFrameRate;
    end_seconds_ = pts_seconds_.back() + shown;
    // The sum of a time and a duration in ticks, rounded once.
    if (last.duration > 0 && last.pts != kNoTimestamp) {
        end_seconds_ = (static_cast<double>(last.pts) + static_cast<double>(last.duration)) * num / den;
    }
    if (last.pts != kNoTimestamp) tick_seconds_ = stream.time_base.to_double();
}

VideoTimes FrameTimes::video_times(bool damaged) const {
    return {.pts_seconds = pts_seconds_,
            .end_seconds = end_seconds_,
            .tick_seconds = tick_seconds_,
            .key_frames = key_frames_,
            .damaged = damaged};
}

}  // namespace tricodec
