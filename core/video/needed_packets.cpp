// SPDX-License-Identifier: Apache-2.0
#include "video/needed_packets.h"

#include <algorithm>

namespace tricodec {

NeededPackets needed_packets(const StreamIndex& index, const Segment& segment, std::int64_t first) {
    constexpr unsigned kAllSlots = 0xff;
    NeededPackets result;
    result.first = first;
    result.needed.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, segment.last - first + 1)));
    unsigned awaited = 0;
    for (auto k = segment.last; k >= first; --k) {
        const auto& packet = index.packet(k);
        if (!packet.slots) {
            result.needed[static_cast<std::size_t>(k - first)] = true;
            awaited = kAllSlots;
            continue;
        }
        const bool wanted = packet.frame < 0 || std::ranges::binary_search(segment.wanted, packet.frame);
        if (!wanted && !packet.entry && (packet.slots->writes & awaited) == 0) continue;
        result.needed[static_cast<std::size_t>(k - first)] = true;
        awaited = (awaited & ~unsigned{packet.slots->writes}) | packet.slots->reads;
    }
    result.slots = static_cast<std::uint8_t>(awaited);
    return result;
}

std::int64_t count_decoded(const StreamIndex& index, const Segment& segment, std::int64_t first) {
    if (index.counted()) return segment.last - first + 1;
    const auto needed = needed_packets(index, segment, first);
    std::int64_t count = 0;
    for (auto k = first; k <= segment.last; ++k) {
        const auto& packet = index.packet(k);
        const bool asked = packet.frame < 0 || std::ranges::binary_search(segment.wanted, packet.frame);
        if (needed.contains(k) && (asked || !packet.non_reference)) ++count;
    }
    return count;
}

}  // namespace tricodec
