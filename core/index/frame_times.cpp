// SPDX-License-Identifier: Apache-2.0
#include "index/frame_times.h"

#include <utility>

#include "ffmpeg/ffmpeg.h"

namespace tricodec {
namespace {

constexpr Rational kAssumedFrameRate{25, 1};  // FFmpeg's own assumption for streams that state none

Rational stated_rate(const StreamInfo& stream) {
    return stream.average_frame_rate.num > 0 ? stream.average_frame_rate : stream.real_frame_rate;
}

Rational rate_of(const StreamInfo& stream) {
    const auto stated = stated_rate(stream);
    return stated.num > 0 ? stated : kAssumedFrameRate;
}

FrameClock clock_of(const StreamInfo& stream, const StreamIndex& index) {
    const auto rate = rate_of(stream);
    const auto num = static_cast<double>(stream.time_base.num);
    const auto den = static_cast<double>(stream.time_base.den);
    // Multiplies before it divides: frame i of a stream without time stamps is at i / 25 to the last bit.
    const auto frames_seconds = [&](std::int64_t count) {
        return static_cast<double>(count) * static_cast<double>(rate.den) / static_cast<double>(rate.num);
    };
    const auto& frames = index.frames();
    std::vector<double> times;
    std::vector<double> shown;
    times.reserve(frames.size());
    shown.reserve(frames.size());
    double timed = 0;  // of the last frame with a time stamp
    for (const auto& frame : frames) {
        if (frame.pts != kNoTimestamp) timed = static_cast<double>(frame.pts) * num / den;
        times.push_back(timed + frames_seconds(frame.num_untimed));
        const bool known = frame.packet >= 0 && frame.packet < index.num_packets();
        shown.push_back(known ? static_cast<double>(index.packet(frame.packet).duration) * num / den : 0);
    }
    if (times.empty()) return {{}, {}, 0};
    const auto& last = frames.back();
    double end = times.back();
    if (last.duration > 0 && last.pts != kNoTimestamp) {  // the sum in ticks, rounded once
        end = (static_cast<double>(last.pts) + static_cast<double>(last.duration)) * num / den;
    } else if (last.duration > 0) {
        end += static_cast<double>(last.duration) * num / den;
    } else {
        end += times.size() > 1 ? (end - times.front()) / static_cast<double>(times.size() - 1) : frames_seconds(1);
    }
    return {std::move(times), std::move(shown), end};
}

}  // namespace

std::int64_t ticks_of_frames(const StreamInfo& stream, std::int64_t count) {
    const auto rate = rate_of(stream);
    return av_rescale_q(count, {static_cast<int>(rate.den), static_cast<int>(rate.num)}, ff::to_av(stream.time_base));
}

std::int64_t pts_of_frame(const StreamInfo& stream, const StreamIndex& index, std::int64_t number) {
    const auto& frame = index.frame(number);
    if (frame.pts != kNoTimestamp) return frame.pts;
    const auto timed = number - frame.num_untimed;
    const auto begin = index.frame(timed).pts;
    return (begin == kNoTimestamp ? 0 : begin) + ticks_of_frames(stream, frame.num_untimed);
}

FrameTimes::FrameTimes(const StreamInfo& stream, std::shared_ptr<const StreamIndex> index)
    : index_(std::move(index)),
      key_frames_(index_->entry_frames()),
      frame_rate_(stated_rate(stream).num > 0 ? stated_rate(stream).to_double() : 0),
      clock_(clock_of(stream, *index_)) {
    const auto& frames = index_->frames();
    if (!frames.empty() && frames.back().pts != kNoTimestamp) tick_seconds_ = stream.time_base.to_double();
}

VideoTimes FrameTimes::video_times() const {
    auto times = clock_.video_times();
    times.tick_seconds = tick_seconds_;
    times.frame_rate = frame_rate_;
    times.key_frames = key_frames_;
    return times;
}

}  // namespace tricodec
