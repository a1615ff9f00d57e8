// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bitstream/packet_inspector.h"
#include "index/stream_index.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {

/// An index of the packets that the container lists; nothing if the list leaves doubt.
///
/// Note [Listed packets]: the sample table of an MP4 file has time, place, size and key flag of every packet, and so
/// have other lists (Demuxer::listed_packets()). So frames are numbered without reading a packet. What only a packet's
/// own headers state (IndexedPacket::inspected) is read with the GOP before it is decoded. A packet that contradicts
/// the table makes the index stale. All packets are then read, and the frames are numbered by their headers. Damage in
/// a GOP that no read touches stays unknown until then.
///
/// Field pictures, tiny MPEG-4 packets and samples outside of the file leave doubt.
[[nodiscard]] std::optional<StreamIndex> listed_index(Demuxer& demuxer, bool predicts);
/// The same with the real packets of some GOPs, which begin at the predicted packets `entries`; nothing if they are not
/// as many as were predicted, or not at their times.
[[nodiscard]] std::optional<StreamIndex> placed_index(Demuxer& demuxer, const StreamIndex& index,
                                                      std::span<const std::int64_t> entries);

/// Reads the headers of packets that an index has from the container's table.
/// Thread safety: one thread at a time. Packets of a GOP come in order, from its random access point on.
class ListedPacketReader {
public:
    explicit ListedPacketReader(const StreamInfo& stream);

    /// Packet `k` of the index, completed by the headers of `packet`; nothing if they contradict each other.
    [[nodiscard]] std::optional<IndexedPacket> complete(const StreamIndex& index, std::int64_t k, const Packet& packet);

private:
    PacketInspector inspector_;
    int top_layer_ = 0;  // of HEVC; -1 unknown
};

}  // namespace tricodec
