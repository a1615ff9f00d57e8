// SPDX-License-Identifier: Apache-2.0
#include "video/segment.h"

#include <algorithm>

#include "video/needed_packets.h"

namespace tricodec {
namespace {

constexpr std::int64_t kFewestPackets = 16;
constexpr std::int64_t kEnoughPackets = 48;
constexpr std::int64_t kEnoughPacketsOfMany = 24;
constexpr std::int64_t kTurnsEach = 3;  // of each decoder in a read

}  // namespace

std::int64_t num_packets(const std::vector<Segment>& segments) noexcept {
    std::int64_t total = 0;
    for (const auto& segment : segments) total += segment.num_packets();
    return total;
}

bool touch(const Segment& last, const Segment& next) noexcept {
    return next.entry <= last.last + 1 && next.entry >= last.entry;
}

void join(Segment& last, const Segment& next) {
    last.last = std::max(last.last, next.last);
    last.num_decoded += next.num_decoded;
    last.wanted.insert(last.wanted.end(), next.wanted.begin(), next.wanted.end());
}

std::vector<Segment> plan_segments(const StreamIndex& index, std::span<const std::int64_t> frames) {
    std::vector<Segment> segments;
    for (const auto i : frames) {
        const auto entry = index.entry_for(i);
        const auto last = index.last_packet_for(i);
        if (segments.empty() || segments.back().entry != entry) segments.push_back({entry, last, {}});
        segments.back().last = std::max(segments.back().last, last);
        segments.back().wanted.push_back(i);
    }
    for (auto& segment : segments) segment.num_decoded = count_decoded(index, segment, segment.entry);
    return segments;
}

std::vector<std::vector<Segment>> group_segments(std::vector<Segment> segments, int max_tasks) {
    std::int64_t total = 0;
    for (const auto& segment : segments) total += segment.num_decoded;
    const std::int64_t share = std::max<std::int64_t>(1, (total + max_tasks - 1) / std::max(1, max_tasks));
    std::vector<std::vector<Segment>> groups;
    std::int64_t in_group = 0;
    for (auto& segment : segments) {
        const auto work = segment.num_decoded;
        // A stretch goes where the larger part of it fits.
        const bool full = in_group > 0 && in_group + work / 2 > share && static_cast<int>(groups.size()) < max_tasks;
        if (groups.empty() || full) {
            groups.emplace_back();
            in_group = 0;
        }
        auto& group = groups.back();
        in_group += work;
        if (!group.empty() && touch(group.back(), segment)) {
            join(group.back(), segment);
        } else {
            group.push_back(std::move(segment));
        }
    }
    return groups;
}

std::vector<Segment> join_short_segments(std::vector<Segment> segments, std::int64_t least) {
    std::vector<Segment> joined;
    for (auto& segment : segments) {
        const bool too_short = !joined.empty() && joined.back().num_packets() < least;
        if (too_short && touch(joined.back(), segment)) {
            join(joined.back(), segment);
        } else {
            joined.push_back(std::move(segment));
        }
    }
    return joined;
}

std::int64_t packets_a_turn(std::int64_t num_packets, int num_turns) noexcept {
    return std::clamp(num_packets / (kTurnsEach * std::max(1, num_turns)), kFewestPackets, kEnoughPackets);
}

std::int64_t packets_a_kept_turn(std::int64_t num_packets, int num_turns, bool many) noexcept {
    const auto packets = packets_a_turn(num_packets, num_turns);
    return many ? std::min(packets, kEnoughPacketsOfMany) : packets;
}

}  // namespace tricodec
