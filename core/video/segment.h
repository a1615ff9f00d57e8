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

    [[nodiscard]] std::int64_t num_packets() const noexcept { return last - entry + 1; }
};

/// The least decoding that gives `frames` (ascending, distinct): each stretch starts at the nearest entry and ends with
/// the last packet needed; stretches that touch stay apart, so that they can go to different decoders.
[[nodiscard]] std::vector<Segment> plan_segments(const StreamIndex& index, std::span<const std::int64_t> frames);

/// The same as at most `max_tasks` lists of about equal work; touching stretches of one list are joined.
[[nodiscard]] std::vector<std::vector<Segment>> group_segments(std::vector<Segment> segments, int max_tasks);

/// Joins stretches that touch until each has at least a few packets: what a GPU's decoders take turns at. To begin and
/// end one costs about as much as a picture.
[[nodiscard]] std::vector<Segment> join_short_segments(std::vector<Segment> segments);

}  // namespace tricodec
