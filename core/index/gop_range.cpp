// SPDX-License-Identifier: Apache-2.0
#include "index/gop_range.h"

#include <algorithm>
#include <utility>

namespace tricodec {
namespace {

/// True if `next` begins where `last` ends.
bool touch(const GopRange& last, const GopRange& next) noexcept {
    return next.entry <= last.last + 1 && next.entry >= last.entry;
}

void join(GopRange& last, const GopRange& next) {
    last.last = std::max(last.last, next.last);
    last.num_decoded += next.num_decoded;
    last.wanted.insert(last.wanted.end(), next.wanted.begin(), next.wanted.end());
}

bool is_wanted(const IndexedPacket& packet, const GopRange& range) {
    return packet.frame < 0 || std::ranges::binary_search(range.wanted, packet.frame);
}

/// For each packet of the range from `first` on: whether it lies between the last that a wanted frame needs and the
/// entry of the next wanted one, and that entry refers to nothing before it.
std::vector<bool> find_gaps(const StreamIndex& index, const GopRange& range, std::int64_t first) {
    std::vector<bool> in_gap(static_cast<std::size_t>(std::max<std::int64_t>(0, range.last - first + 1)));
    if (index.counted()) return in_gap;
    auto end = range.entry;  // of what the frames so far need
    for (const auto i : range.wanted) {
        const auto entry = index.entry_for(i);
        const bool is_closed = entry > end && index.packet(entry).inspected && !index.is_open(entry);
        for (auto k = std::max(end, first); is_closed && k < entry; ++k)
            in_gap[static_cast<std::size_t>(k - first)] = true;
        end = std::max(end, index.last_packet_for(i) + 1);
    }
    return in_gap;
}

}  // namespace

std::int64_t num_packets(std::span<const GopRange> ranges) noexcept {
    std::int64_t total = 0;
    for (const auto& range : ranges) total += range.num_packets();
    return total;
}

std::vector<GopRange> plan_ranges(const StreamIndex& index, std::span<const std::int64_t> frames) {
    std::vector<GopRange> ranges;
    for (const auto i : frames) {
        const auto entry = index.entry_for(i);
        const auto last = index.last_packet_for(i);
        if (ranges.empty() || ranges.back().entry != entry) ranges.push_back({entry, last, {}});
        ranges.back().last = std::max(ranges.back().last, last);
        ranges.back().wanted.push_back(i);
    }
    for (auto& range : ranges) range.num_decoded = count_decoded(index, range, range.entry);
    return ranges;
}

std::vector<std::vector<GopRange>> balance(std::vector<GopRange> ranges, int max_lists) {
    std::int64_t total = 0;
    for (const auto& range : ranges) total += range.num_decoded;
    const std::int64_t share = std::max<std::int64_t>(1, (total + max_lists - 1) / std::max(1, max_lists));
    std::vector<std::vector<GopRange>> lists;
    std::int64_t in_list = 0;
    for (auto& range : ranges) {
        const auto work = range.num_decoded;
        // A range goes to the list that the larger part of it fits.
        const bool full = in_list > 0 && in_list + work / 2 > share && static_cast<int>(lists.size()) < max_lists;
        if (lists.empty() || full) {
            lists.emplace_back();
            in_list = 0;
        }
        auto& list = lists.back();
        in_list += work;
        if (!list.empty() && touch(list.back(), range)) {
            join(list.back(), range);
        } else {
            list.push_back(std::move(range));
        }
    }
    return lists;
}

std::vector<GopRange> join_short_ranges(std::vector<GopRange> ranges, std::int64_t least) {
    std::vector<GopRange> joined;
    for (auto& range : ranges) {
        const bool too_short = !joined.empty() && joined.back().num_packets() < least;
        if (too_short && touch(joined.back(), range)) {
            join(joined.back(), range);
        } else {
            joined.push_back(std::move(range));
        }
    }
    return joined;
}

GopRange join_all(const StreamIndex& index, std::vector<GopRange> ranges) {
    GopRange all = std::move(ranges.front());
    for (auto it = ranges.begin() + 1; it != ranges.end(); ++it) join(all, *it);
    all.num_decoded = count_decoded(index, all, all.entry);
    return all;
}

NeededPackets needed_packets(const StreamIndex& index, const GopRange& range, std::int64_t first) {
    constexpr unsigned kAllSlots = 0xff;
    NeededPackets result;
    result.first = first;
    const auto in_gap = find_gaps(index, range, first);
    result.needed.resize(in_gap.size());
    unsigned awaited = 0;
    for (auto k = range.last; k >= first; --k) {
        const auto& packet = index.packet(k);
        if (in_gap[static_cast<std::size_t>(k - first)]) continue;
        if (!packet.slots) {
            result.needed[static_cast<std::size_t>(k - first)] = true;
            awaited = kAllSlots;
            continue;
        }
        if (!is_wanted(packet, range) && !packet.entry && (packet.slots->writes & awaited) == 0) continue;
        result.needed[static_cast<std::size_t>(k - first)] = true;
        awaited = (awaited & ~unsigned{packet.slots->writes}) | packet.slots->reads;
    }
    result.slots = static_cast<std::uint8_t>(awaited);
    return result;
}

std::int64_t count_decoded(const StreamIndex& index, const GopRange& range, std::int64_t first) {
    if (index.counted()) return range.last - first + 1;
    const auto needed = needed_packets(index, range, first);
    std::int64_t count = 0;
    for (auto k = first; k <= range.last; ++k) {
        const auto& packet = index.packet(k);
        if (needed.contains(k) && (is_wanted(packet, range) || !packet.non_reference)) ++count;
    }
    return count;
}

}  // namespace tricodec
