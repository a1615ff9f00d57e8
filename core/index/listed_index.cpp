// SPDX-License-Identifier: Apache-2.0
#include "index/listed_index.h"

#include <algorithm>
#include <utility>

#include "media/sps.h"
#include "media/stream_info.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

constexpr std::int64_t kSmallestMpeg4Packet = 32;  // a shorter one may repeat the picture before and give no frame

bool numbered_by_times(const StreamInfo& stream) {
    switch (stream.codec) {
        case CodecId::h264: {
            const auto sps = only_h264_sps(extradata_of(stream.parameters.get()));
            return sps && sps->frames_only;
        }
        case CodecId::hevc:
        case CodecId::vp8:
        case CodecId::vp9:
        case CodecId::av1:
        case CodecId::mpeg4:
        case CodecId::mjpeg:
            return true;
        default:
            return false;
    }
}

/// The highest temporal layer that an hvcC record states (ISO/IEC 14496-15, 8.3.3.1), or -1.
int top_layer_of(const StreamInfo& stream) {
    constexpr std::size_t kNumLayersAt = 21;
    const auto extradata = extradata_of(stream.parameters.get());
    if (stream.codec != CodecId::hevc) return 0;
    if (extradata.size() <= kNumLayersAt || byte_at(extradata, 0) != 1) return -1;
    return static_cast<int>(byte_at(extradata, kNumLayersAt) >> 3 & 7) - 1;
}

}  // namespace

std::optional<StreamIndex> listed_index(Demuxer& demuxer) {
    const auto& stream = demuxer.stream();
    if (!numbered_by_times(stream)) return std::nullopt;
    const auto listed = demuxer.listed_packets();
    const auto limit = limits();
    if (listed.empty() || static_cast<std::int64_t>(listed.size()) > limit.max_packets) return std::nullopt;
    const auto smallest = stream.codec == CodecId::mpeg4 ? kSmallestMpeg4Packet : 1;
    const auto largest = std::min(limit.max_packet_bytes, demuxer.info().size_bytes);
    std::int64_t latest = kNoTimestamp;
    StreamIndex::Contents contents;
    contents.packets.reserve(listed.size());
    for (const auto& packet : listed) {
        const bool fits = packet.size_bytes >= smallest && packet.size_bytes <= largest && packet.pos >= 0 &&
                          packet.pos <= demuxer.info().size_bytes - packet.size_bytes;
        // No codec shows a frame from before a key frame after it.
        const bool goes_back = packet.key && latest != kNoTimestamp && packet.pts <= latest;
        if (!fits || goes_back || packet.pts == kNoTimestamp) return std::nullopt;
        latest = std::max(latest, packet.pts);
        contents.packets.push_back({.pts = packet.pts,
                                    .dts = packet.dts,
                                    .pos = packet.pos,
                                    .duration = packet.duration,
                                    .size_bytes = packet.size_bytes,
                                    .entry = packet.key,
                                    .shows_frame = !packet.discard,
                                    .inspected = false});
    }
    auto index = StreamIndex::from_contents(std::move(contents));
    if (!index.numbered()) return std::nullopt;
    return index;
}

ListedPacketReader::ListedPacketReader(const StreamInfo& stream)
    : inspector_(stream), top_layer_(top_layer_of(stream)) {}

std::optional<IndexedPacket> ListedPacketReader::complete(const StreamIndex& index, std::int64_t k,
                                                          const Packet& packet) {
    const auto& listed = index.packet(k);
    const auto facts = inspector_.inspect(packet);
    const bool same_times = packet.pts == listed.pts && (packet.dts == listed.dts || listed.dts == kNoTimestamp);
    const bool is_same = index.is_packet(k, packet) && same_times;
    const bool starts = !listed.entry || facts.entry;
    if (!is_same || !starts || facts.uncertain || facts.shows_frame != listed.shows_frame || facts.changes_parameters) {
        return std::nullopt;
    }
    auto completed = listed;
    completed.inspected = true;
    completed.open_entry = listed.entry && facts.open_entry;
    completed.non_reference = facts.non_reference && facts.temporal_layer == top_layer_;
    completed.referenced_bytes = static_cast<std::int64_t>(facts.referenced_bytes);
    completed.slots = facts.slots;
    return completed;
}

}  // namespace tricodec
