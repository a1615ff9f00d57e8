// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "video/segment.h"
#include "video/stream_index.h"

namespace tricodec {

/// Which packets of a stretch have a part in the pictures that are wanted of it.
///
/// Note [Needed pictures]: an AV1 picture takes all that it needs from the slots that its header names. Walked from the
/// end of a stretch to its start, the slots that are still to be read tell of each packet whether anybody needs what it
/// fills them with: of every eighth picture of a hierarchy of four layers, most others are left out. Packets whose
/// headers leave it open, all of other codecs among them, are needed and may need anything.
struct NeededPackets {
    std::int64_t first = 0;
    std::vector<bool> needed;  ///< from packet `first` to the last of the segment
    std::uint8_t slots = 0;    ///< that must hold their pictures before `first`

    [[nodiscard]] bool contains(std::int64_t k) const {
        const auto i = static_cast<std::size_t>(k - first);
        return i >= needed.size() || needed[i];
    }
};

/// Of the packets from `first` on.
[[nodiscard]] NeededPackets needed_packets(const StreamIndex& index, const Segment& segment, std::int64_t first);

/// How many of them go to a decoder; Note [Pictures left out].
[[nodiscard]] std::int64_t count_decoded(const StreamIndex& index, const Segment& segment, std::int64_t first);

}  // namespace tricodec
