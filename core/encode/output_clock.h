// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "tricodec/io/stream_info.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Gives the frames of an output places on one line of time, as they come: a source that is read once has no index, and
/// FrameClock needs all times.
///
/// Note [Places of frames]: in most sources each frame states a time after that of the frame before, and its place is
/// that time. In joined recordings, and after glitches of a clock, it does not. Then the frame follows the one before
/// by the time for which that one is shown, and all later frames move with it. A single frame with a time that is not
/// between those of its neighbors is placed between them, and moves no other frame. Where the container's clock may
/// jump (MPEG-TS), a step of more than ten seconds is a jump in either direction, as it is to ffmpeg. Every frame has a
/// place.
///
/// Thread safety: one thread at a time.
class OutputClock {
public:
    /// When a frame is shown and for how long, in units of the stream's time base.
    struct Place {
        std::int64_t begin = 0;
        std::int64_t duration = 0;
        [[nodiscard]] std::int64_t end() const noexcept { return begin + duration; }
    };

    /// `first`: the place of the first frame; nothing for its own time.
    OutputClock(const MediaInfo& media, const StreamInfo& stream, std::optional<std::int64_t> first = std::nullopt);

    /// Takes the next frame. Returns the place of an earlier one, in order, once it is known.
    [[nodiscard]] std::optional<Place> push(const FrameReader::FrameTime& time);
    /// After the last frame: the next place that push() has not returned; nothing after the last. `end`: where the last
    /// frame ends, if that is known from a frame after it.
    [[nodiscard]] std::optional<Place> finish(std::optional<std::int64_t> end = std::nullopt);

private:
    /// Where waiting_[1] begins.
    [[nodiscard]] std::int64_t second_place();
    [[nodiscard]] std::int64_t shown(const FrameReader::FrameTime& time) const noexcept;
    [[nodiscard]] Place take(std::int64_t next);

    bool clock_jumps_;
    std::int64_t frame_units_;  // for which a frame is shown that states no duration
    std::int64_t jump_units_;
    std::deque<FrameReader::FrameTime> waiting_;  // a frame, and the two after it
    std::optional<std::int64_t> place_;           // of waiting_[0]
    // The latest time that was believed, and its place.
    std::int64_t known_time_ = kNoTimestamp;
    std::int64_t known_place_ = 0;
};

}  // namespace tricodec
