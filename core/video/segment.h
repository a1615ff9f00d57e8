// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "video/stream_index.h"

namespace tricodec {

/// A stretch of packets to feed from an entry on, and the frames wanted of it, ascending.
struct Segment {
    std::int64_t entry = 0;
    std::int64_t last = 0;
    std::vector<std::int64_t> wanted;
    std::int64_t num_decoded = 0;  ///< packets that go to the decoder, as far as the index tells

    [[nodiscard]] std::int64_t num_packets() const noexcept { return last - entry + 1; }
};

[[nodiscard]] std::int64_t num_packets(const std::vector<Segment>& segments) noexcept;

/// True if `next` goes on where `last` ends.
[[nodiscard]] bool touch(const Segment& last, const Segment& next) noexcept;
/// Adds `next` to `last`, which it touches.
void join(Segment& last, const Segment& next);

/// The least decoding that gives `frames` (ascending, distinct): each stretch starts at the nearest entry and ends with
/// the last packet needed; stretches that touch stay apart, so that they can go to different decoders.
[[nodiscard]] std::vector<Segment> plan_segments(const StreamIndex& index, std::span<const std::int64_t> frames);

/// The same as at most `max_tasks` lists of about equal work; touching stretches of one list are joined.
[[nodiscard]] std::vector<std::vector<Segment>> group_segments(std::vector<Segment> segments, int max_tasks);

/// Joins stretches that touch until each has at least so many packets: what a GPU's decoders take turns at.
[[nodiscard]] std::vector<Segment> join_short_segments(std::vector<Segment> segments, std::int64_t least);

/// How many packets a turn should have at least in a read of `num_packets` that has `num_turns` at once.
///
/// Note [Length of a turn]: a decoder stands still for the time of a few pictures between the last one of a turn and
/// the first one of the next, and decoders that began together do so together. Turns of 60 packets gave eight files of
/// HEVC 8,736 frames/s where turns of 30 gave 8,491 (H200, 2026-11-22). Every decoder should have several turns of a
/// read, though, so that all of them end at about the same time; and to begin and end one costs more than a picture:
/// where pictures after a key frame refer to what is before it, the key frame is decoded for both. Of files that are
/// read beside one another each has few turns at once, and long ones: 64 of 300 frames decoded 3 % of their pictures
/// twice by turns of 30.
[[nodiscard]] std::int64_t packets_a_turn(std::int64_t num_packets, int num_turns) noexcept;

/// The same for decoders that keep their turns (Note [Turns that are kept]). With `many` reads, more than there are
/// engines, each goes on by one decoder, to which the length of a turn is nothing, and short ones hold less memory and
/// let others begin sooner: 16 files of HEVC held 2.5 GB by turns of 30 packets where they held 3.8 by turns of 60, and
/// came as fast (H200, 2026-11-22).
[[nodiscard]] std::int64_t packets_a_kept_turn(std::int64_t num_packets, int num_turns, bool many) noexcept;

}  // namespace tricodec
