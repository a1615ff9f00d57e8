// SPDX-License-Identifier: Apache-2.0
#include "encode/output_clock.h"

#include <algorithm>
#include <cmath>

#include "io/container_policy.h"

namespace tricodec {
namespace {

constexpr double kJumpSeconds = 10.0;       // ffmpeg's -dts_delta_threshold
constexpr double kAssumedFrameRate = 25.0;  // FFmpeg's own assumption for streams that state none

double frame_rate_of(const StreamInfo& stream) {
    if (stream.average_frame_rate.num > 0) return stream.average_frame_rate.to_double();
    return stream.real_frame_rate.num > 0 ? stream.real_frame_rate.to_double() : kAssumedFrameRate;
}

std::int64_t to_units(double seconds, const StreamInfo& stream) {
    return std::max<std::int64_t>(1, std::llround(seconds / stream.time_base.to_double()));
}

}  // namespace

OutputClock::OutputClock(const MediaInfo& media, const StreamInfo& stream, std::optional<std::int64_t> first)
    : clock_jumps_(has_jumping_clock(media.format_name)),
      frame_units_(to_units(1.0 / frame_rate_of(stream), stream)),
      jump_units_(to_units(kJumpSeconds, stream)),
      place_(first) {}

std::int64_t OutputClock::shown(const FrameReader::FrameTime& time) const noexcept {
    return time.duration > 0 ? time.duration : frame_units_;
}

std::optional<OutputClock::Place> OutputClock::push(const FrameReader::FrameTime& time) {
    if (waiting_.empty()) {
        if (!place_) place_ = time.pts == kNoTimestamp ? 0 : time.pts;
        known_time_ = time.pts;
        known_place_ = *place_;
    }
    waiting_.push_back(time);
    if (waiting_.size() < 3) return std::nullopt;
    return take(second_place());
}

std::optional<OutputClock::Place> OutputClock::finish(std::optional<std::int64_t> end) {
    if (waiting_.empty()) return std::nullopt;
    if (waiting_.size() > 1) return take(second_place());
    return take(end && *end > *place_ ? *end : *place_ + shown(waiting_.front()));
}

OutputClock::Place OutputClock::take(std::int64_t next) {
    const Place place{*place_, next - *place_};
    place_ = next;
    waiting_.pop_front();
    return place;
}

std::int64_t OutputClock::second_place() {
    const auto& now = waiting_[1];
    const auto follows = *place_ + shown(waiting_[0]);
    if (now.pts == kNoTimestamp || known_time_ == kNoTimestamp) {
        if (now.pts != kNoTimestamp) {
            known_time_ = now.pts;
            known_place_ = follows;
        }
        return follows;
    }
    const auto place_of = [&](std::int64_t time) { return known_place_ + (time - known_time_); };
    const auto next = waiting_.size() > 2 ? waiting_[2].pts : kNoTimestamp;
    const bool neighbors_agree = next != kNoTimestamp && next > known_time_ && next - known_time_ <= jump_units_;
    if (neighbors_agree && (now.pts <= known_time_ || now.pts >= next)) {
        const auto middle = *place_ + (place_of(next) - *place_) / 2;
        return middle > *place_ ? std::min(follows, middle) : follows;
    }
    auto place = place_of(now.pts);
    if (place <= *place_ || (clock_jumps_ && now.pts - known_time_ > jump_units_)) place = follows;
    known_time_ = now.pts;
    known_place_ = place;
    return place;
}

}  // namespace tricodec
