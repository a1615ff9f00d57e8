// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/stream_index.h"

namespace tricodec {

/// Packets to decode from a random access point on, and the frames wanted of them, ascending.
struct GopRange {
    std::int64_t entry = 0;  ///< the random access point
    std::int64_t last = 0;
    std::vector<std::int64_t> wanted;
    std::int64_t num_decoded = 0;  ///< packets that go to the decoder, as far as the index knows

    [[nodiscard]] std::int64_t num_packets() const noexcept { return last - entry + 1; }
};

[[nodiscard]] std::int64_t num_packets(std::span<const GopRange> ranges) noexcept;

/// The least decoding that gives `frames` (ascending, distinct): each range starts at the nearest random access point
/// and ends with the last packet needed. Ranges that touch stay apart, so that they can go to different decoders.
[[nodiscard]] std::vector<GopRange> plan_ranges(const StreamIndex& index, std::span<const std::int64_t> frames);

/// The ranges as at most `max_lists` lists of about equal work. Ranges of one list that touch are joined.
[[nodiscard]] std::vector<std::vector<GopRange>> balance(std::vector<GopRange> ranges, int max_lists);

/// Joins ranges that touch until each has at least `least` packets.
[[nodiscard]] std::vector<GopRange> join_short_ranges(std::vector<GopRange> ranges, std::int64_t least);

/// Joins all ranges to one that decodes from the first entry to the last packet.
[[nodiscard]] GopRange join_all(const StreamIndex& index, std::vector<GopRange> ranges);

/// Which packets of a range the wanted pictures need.
///
/// Note [Needed pictures]: an AV1 picture takes all that it needs from the slots that its header names. A walk from the
/// end of a range to its start knows which slots are still to be read, so it knows which packets fill a slot for a
/// picture that is needed. Of every eighth picture of a hierarchy of four layers, most others are left out. Packets
/// with headers that leave it open, all of other codecs among them, are needed and may need any slot. Of any codec,
/// nothing is needed between the last picture that a wanted one refers to and a closed random access point after it.
struct NeededPackets {
    std::int64_t first = 0;
    std::vector<bool> needed;  ///< from packet `first` to the last of the range
    std::uint8_t slots = 0;    ///< that must hold their pictures before `first`

    [[nodiscard]] bool contains(std::int64_t k) const {
        const auto i = static_cast<std::size_t>(k - first);
        return i >= needed.size() || needed[i];
    }
};

/// Of the packets from `first` on.
[[nodiscard]] NeededPackets needed_packets(const StreamIndex& index, const GopRange& range, std::int64_t first);

/// How many packets from `first` on go to a decoder; Note [Pictures left out].
[[nodiscard]] std::int64_t count_decoded(const StreamIndex& index, const GopRange& range, std::int64_t first);

}  // namespace tricodec
