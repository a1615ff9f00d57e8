// SPDX-License-Identifier: Apache-2.0
#include "index/listed_index.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "bitstream/nal.h"
#include "bitstream/sps.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

bool numbered_by_times(const StreamInfo& stream) {
    constexpr CodecId kCodecs[] = {CodecId::hevc, CodecId::vp8,   CodecId::vp9,
                                   CodecId::av1,  CodecId::mpeg4, CodecId::mjpeg};
    if (stream.codec != CodecId::h264) return std::ranges::find(kCodecs, stream.codec) != std::end(kCodecs);
    const auto sps = only_h264_sps(extradata_of(stream.parameters.get()));
    return sps && sps->frames_only;
}

/// The highest temporal layer that an hvcC record states (ISO/IEC 14496-15, 8.3.3.1), or -1.
int top_layer_of(const StreamInfo& stream) {
    constexpr std::size_t kNumLayersAt = 21;
    const auto extradata = extradata_of(stream.parameters.get());
    if (stream.codec != CodecId::hevc) return 0;
    if (extradata.size() <= kNumLayersAt || byte_at(extradata, 0) != 1) return -1;
    return static_cast<int>(byte_at(extradata, kNumLayersAt) >> 3 & 7) - 1;
}

/// Nothing if the packet cannot be one of the stream.
std::optional<IndexedPacket> indexed(const ListedPacket& packet, const Demuxer& demuxer) {
    const auto size_bytes = demuxer.info().size_bytes;
    const auto smallest = demuxer.stream().codec == CodecId::mpeg4 ? std::int64_t{kSmallestMpeg4Picture} : 1;
    const auto largest = std::min(limits().max_packet_bytes, size_bytes);
    const bool fits = packet.size_bytes >= smallest && packet.size_bytes <= largest && packet.pos >= 0 &&
                      packet.pos <= size_bytes - packet.size_bytes;
    if ((!fits && !packet.predicted) || packet.pts == kNoTimestamp) return std::nullopt;
    return IndexedPacket{.pts = packet.pts,
                         .dts = packet.dts,
                         .pos = packet.pos,
                         .duration = packet.duration,
                         .size_bytes = packet.size_bytes,
                         .entry = packet.key,
                         .shows_frame = !packet.discard,
                         .inspected = false,
                         .predicted = packet.predicted};
}

std::optional<StreamIndex> numbered(StreamIndex::Contents contents) {
    auto index = StreamIndex::from_contents(std::move(contents));
    if (!index.numbered()) return std::nullopt;
    return index;
}

}  // namespace

std::optional<StreamIndex> listed_index(Demuxer& demuxer, bool predicts) {
    if (!numbered_by_times(demuxer.stream())) return std::nullopt;
    const auto listed = demuxer.listed_packets(predicts);
    if (listed.empty() || static_cast<std::int64_t>(listed.size()) > limits().max_packets) return std::nullopt;
    std::int64_t latest = kNoTimestamp;
    StreamIndex::Contents contents;
    contents.packets.reserve(listed.size());
    for (const auto& packet : listed) {
        const auto known = indexed(packet, demuxer);
        // No codec shows a frame from before a key frame after it.
        const bool goes_back = packet.key && latest != kNoTimestamp && packet.pts <= latest;
        if (!known || goes_back) return std::nullopt;
        latest = std::max(latest, packet.pts);
        contents.packets.push_back(*known);
    }
    return numbered(std::move(contents));
}

std::optional<StreamIndex> placed_index(Demuxer& demuxer, const StreamIndex& index,
                                        std::span<const std::int64_t> entries) {
    std::vector<ByteRange> gops;
    for (const auto k : entries) gops.push_back({index.packet(k).pos, index.packet(k).size_bytes});
    const auto packets = demuxer.packets_of(gops);
    auto contents = index.contents();
    auto next = packets.begin();
    for (const auto first : entries) {
        const auto end = index.next_entry(first);
        const auto begins = index.packet(first).pts;
        for (auto k = first; k < end; ++k, ++next) {
            const auto known = next == packets.end() ? std::nullopt : indexed(*next, demuxer);
            // Frames from before its key frame belong to an open GOP, where the one before has fewer.
            const bool is_first = known && known->entry && known->pts == begins;
            const bool fits = known && known->pts >= begins && known->pts < index.packet(end).pts;
            if (!fits || (k == first && !is_first)) return std::nullopt;
            contents.packets[static_cast<std::size_t>(k)] = *known;
        }
    }
    if (next != packets.end()) return std::nullopt;
    return numbered(std::move(contents));
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
