// SPDX-License-Identifier: Apache-2.0
/// Indexes without a stream.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "index/stream_index.h"

namespace tricodec::testing {

inline constexpr std::int64_t kGroup = 10;  // packets of a group of pictures; nothing refers to every third

inline StreamIndex index_of(std::int64_t num_groups) {
    StreamIndex::Contents contents;
    for (std::int64_t k = 0; k < num_groups * kGroup; ++k) {
        IndexedPacket packet;
        packet.pts = packet.dts = k;
        packet.pos = 100 * k;
        packet.size_bytes = 100;
        packet.entry = k % kGroup == 0;
        packet.non_reference = k % kGroup % 3 == 2;
        contents.packets.push_back(packet);
    }
    return StreamIndex::from_contents(std::move(contents));
}

inline std::vector<std::int64_t> all_of(const StreamIndex& index) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(index.num_frames()));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

}  // namespace tricodec::testing
