// SPDX-License-Identifier: Apache-2.0
#include "container/listed_packets.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "container/matroska_blocks.h"
#include "container/mp4_boxes.h"
#include "container/mp4_fragments.h"
#include "tricodec/base/limits.h"
#include "tricodec/io/media_source.h"

namespace tricodec {
namespace {

/// What the `moov` box of an MP4 or QuickTime file states of the samples of a track, beyond libavformat's own index
/// (ISO/IEC 14496-12, 8.6).
struct Mp4SampleTable {
    std::int64_t num_samples = 0;
    std::vector<std::int32_t> composition_offsets;  ///< one a sample, in the track's time scale; empty if all are 0
    std::int64_t last_duration = 0;                 ///< of the last sample
};

using mp4::find_box;
using mp4::for_each_box;
using mp4::number;
using mp4::Payload;

/// Of `ctts`: pairs of a count and an offset. Nothing if they are not of so many samples.
std::optional<std::vector<std::int32_t>> composition_offsets(Payload box, std::int64_t num_samples) {
    std::vector<std::int32_t> offsets;
    offsets.reserve(static_cast<std::size_t>(num_samples));
    bool all_zero = true;
    const auto num_entries = number(box, 4);
    if (num_entries > box.size() / 8) return std::nullopt;
    for (std::uint64_t i = 0; i < num_entries; ++i) {
        const auto at = static_cast<std::size_t>(8 + 8 * i);
        const auto count = number(box, at);
        const auto offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(number(box, at + 4)));
        if (count > static_cast<std::uint64_t>(num_samples) - offsets.size()) return std::nullopt;
        offsets.insert(offsets.end(), static_cast<std::size_t>(count), offset);
        all_zero = all_zero && offset == 0;
    }
    if (static_cast<std::int64_t>(offsets.size()) != num_samples) return std::nullopt;
    if (all_zero) offsets.clear();
    return offsets;
}

std::optional<Mp4SampleTable> parse_track(Payload track) {
    constexpr std::string_view kPath[] = {"mdia", "minf", "stbl"};
    Payload descriptions;
    Payload durations;
    Payload offsets;
    Payload sizes;
    const bool whole = for_each_box(find_box(track, kPath), [&](std::string_view name, Payload payload) {
        if (name == "stsd") descriptions = payload;
        if (name == "stts") durations = payload;
        if (name == "ctts") offsets = payload;
        if (name == "stsz" || name == "stz2") sizes = payload;
    });
    if (!whole || number(descriptions, 4) != 1) return std::nullopt;
    Mp4SampleTable table;
    table.num_samples = static_cast<std::int64_t>(number(sizes, 8));
    if (table.num_samples < 1 || table.num_samples > limits().max_packets) return std::nullopt;
    const auto num_durations = static_cast<std::size_t>(number(durations, 4));
    if (num_durations < 1 || num_durations > durations.size() / 8) return std::nullopt;
    table.last_duration = static_cast<std::int64_t>(number(durations, 8 * num_durations + 4));
    if (!offsets.empty()) {
        auto parsed = composition_offsets(offsets, table.num_samples);
        if (!parsed) return std::nullopt;
        table.composition_offsets = std::move(*parsed);
    }
    return table;
}

/// Nothing if the track is not there, if its table is damaged, if it has several sample descriptions, or if the file
/// has fragments, which the table does not list.
std::optional<Mp4SampleTable> read_mp4_sample_table(ByteReader& reader, std::uint32_t track_id) {
    const auto moov = mp4::read_moov(reader);
    std::optional<Mp4SampleTable> found;
    bool has_fragments = false;
    const bool whole = for_each_box(moov, [&](std::string_view name, Payload payload) {
        has_fragments = has_fragments || name == "mvex";
        if (name == "trak" && !found && mp4::track_id_of(payload) == track_id) found = parse_track(payload);
    });
    return whole && !has_fragments ? found : std::nullopt;
}

/// libavformat's index has decoding times, with the edit list applied; the table has what they are off from
/// presentation times.
std::vector<ListedPacket> list_table(AVStream& stream, const Mp4SampleTable& table) {
    const auto& offsets = table.composition_offsets;
    // libavformat moves decoding times, so that none is later than its presentation time. It ignores the last two.
    std::int64_t shift = 0;
    for (std::size_t k = 0; k + 2 < offsets.size(); ++k) shift = std::max(shift, -std::int64_t{offsets[k]});
    std::vector<ListedPacket> packets(static_cast<std::size_t>(table.num_samples));
    for (std::size_t k = 0; k < packets.size(); ++k) {
        const auto* entry = avformat_index_get_entry(&stream, static_cast<int>(k));
        if (entry->timestamp == AV_NOPTS_VALUE) return {};
        const std::int64_t offset = offsets.empty() ? 0 : offsets[k] + shift;
        packets[k] = {.pts = av_sat_add64(entry->timestamp, offset),
                      .dts = entry->timestamp,
                      .pos = entry->pos,
                      .duration = table.last_duration,
                      .size_bytes = entry->size,
                      .key = (entry->flags & AVINDEX_KEYFRAME) != 0,
                      .discard = (entry->flags & AVINDEX_DISCARD_FRAME) != 0};
        if (k > 0) packets[k - 1].duration = av_sat_sub64(entry->timestamp, packets[k - 1].dts);
    }
    return packets;
}

/// libavformat has the fragments that it has read by now in its index: all, or the first ones if the file lists where
/// they are. They say which edit list is applied, and must agree with the headers.
std::vector<ListedPacket> list_fragments(AVStream& stream, const std::vector<Mp4FragmentSample>& samples) {
    const auto num_known = static_cast<std::size_t>(avformat_index_get_entries_count(&stream));
    if (num_known < 1 || num_known > samples.size()) return {};
    const auto delay = av_sat_sub64(avformat_index_get_entry(&stream, 0)->timestamp, samples[0].dts);
    std::int64_t shift = 0;
    std::vector<ListedPacket> packets(samples.size());
    for (std::size_t k = 0; k < samples.size(); ++k) {
        const auto& sample = samples[k];
        const bool is_new = -sample.composition_offset > shift;
        if (is_new && k >= num_known) return {};  // libavformat would change times while it reads
        if (is_new) shift = -sample.composition_offset;
        packets[k] = {.dts = sample.dts + delay,
                      .pos = sample.pos,
                      .duration = sample.duration,
                      .size_bytes = sample.size_bytes,
                      .key = sample.key};
        if (k >= num_known) continue;
        const auto* entry = avformat_index_get_entry(&stream, static_cast<int>(k));
        const int flags = sample.key ? AVINDEX_KEYFRAME : 0;
        if (entry->timestamp != packets[k].dts || entry->pos != sample.pos || entry->size != sample.size_bytes ||
            entry->flags != flags) {
            return {};
        }
    }
    for (std::size_t k = 0; k < samples.size(); ++k) {
        packets[k].pts = packets[k].dts + shift + samples[k].composition_offset;
    }
    return packets;
}

std::vector<ListedPacket> list_mp4(InputContext& input, AVStream& stream) {
    const auto track_id = static_cast<std::uint32_t>(stream.id);
    if (const auto table = input.look([&](ByteReader& reader) { return read_mp4_sample_table(reader, track_id); })) {
        // Else an edit list left some out, or repeats some.
        if (table->num_samples != avformat_index_get_entries_count(&stream)) return {};
        return list_table(stream, *table);
    }
    const auto samples = input.look([&](ByteReader& reader) { return read_mp4_fragments(reader, track_id); });
    if (!samples) return {};
    auto packets = list_fragments(stream, *samples);
    if (!packets.empty() && static_cast<std::size_t>(avformat_index_get_entries_count(&stream)) < packets.size()) {
        // libavformat reads the other fragments when a seek leads there. If it then seeks in the streams that are not
        // read too, it goes one fragment too far back.
        av_opt_set_int(input.context().priv_data, "seek_streams_individually", 0, 0);
    }
    return packets;
}

/// Its number among the video streams.
std::size_t video_number(const InputContext& input, const AVStream& stream) {
    std::size_t number = 0;
    for (const AVStream* each : input.streams()) {
        if (each->index < stream.index && each->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) ++number;
    }
    return number;
}

bool has_ticks(const AVStream& stream, Rational tick) {
    return tick.num * stream.time_base.den == tick.den * stream.time_base.num;
}

std::vector<ListedPacket> list_blocks(AVStream& stream, const std::optional<MatroskaBlocks>& found) {
    if (!found || found->blocks.empty()) return {};
    const auto last = std::ranges::max_element(found->blocks, {}, &MatroskaBlock::pts);
    // libavformat would guess how long the last frame is shown
    if (!has_ticks(stream, found->tick) || last->duration == 0) return {};
    std::vector<ListedPacket> packets;
    packets.reserve(found->blocks.size());
    const bool is_vp8 = stream.codecpar->codec_id == AV_CODEC_ID_VP8;
    for (const auto& block : found->blocks) {
        const bool hidden = is_vp8 && (block.first_byte & 0x10) == 0;  // RFC 6386, 9.1: show_frame
        // So that a seek needs no Cues.
        if (block.key) av_add_index_entry(&stream, block.cluster, block.pts, 0, 0, AVINDEX_KEYFRAME);
        packets.push_back({.pts = block.pts,
                           .pos = block.pos,
                           .duration = block.duration,
                           .size_bytes = block.size_bytes,
                           .key = block.key,
                           .discard = hidden});
    }
    return packets;
}

std::vector<ListedPacket> list_matroska(InputContext& input, AVStream& stream) {
    const auto number = video_number(input, stream);
    return list_blocks(stream, input.look([&](ByteReader& reader) { return read_matroska_blocks(reader, number); }));
}

/// Note [Predicted packets]
std::vector<ListedPacket> list_cued(InputContext& input, AVStream& stream) {
    const auto number = video_number(input, stream);
    const auto cues = input.look([&](ByteReader& reader) { return read_matroska_cues(reader, number); });
    if (!cues || cues->frame_ticks < 1 || !has_ticks(stream, cues->tick)) return {};
    std::vector<ListedPacket> packets;
    for (std::size_t g = 0; g < cues->gops.size(); ++g) {
        const auto& gop = cues->gops[g];
        av_add_index_entry(&stream, gop.clusters.offset, gop.pts, 0, 0, AVINDEX_KEYFRAME);
        if (g + 1 == cues->gops.size()) {
            const auto last = list_clusters(input, stream, {&gop.clusters, 1});
            const auto first = std::ranges::min_element(last, {}, &ListedPacket::pts);
            if (last.empty() || first != last.begin() || first->pts != gop.pts || !first->key) return {};
            packets.insert(packets.end(), last.begin(), last.end());
            break;
        }
        const auto ticks = static_cast<double>(cues->gops[g + 1].pts - gop.pts);
        const auto count = std::round(ticks / cues->frame_ticks);
        constexpr double kRounded = 2;  // times are whole ticks
        const bool is_whole = count >= 1 && std::abs(count * cues->frame_ticks - ticks) <= kRounded;
        if (!is_whole || count + static_cast<double>(packets.size()) > static_cast<double>(limits().max_packets))
            return {};
        packets.push_back({.pts = gop.pts,
                           .pos = gop.clusters.offset,
                           .size_bytes = gop.clusters.size_bytes,
                           .key = true,
                           .predicted = true});
        for (double k = 1; k < count; ++k) {
            packets.push_back({.pts = gop.pts + std::llround(k * cues->frame_ticks), .predicted = true});
        }
    }
    return packets;
}

}  // namespace

std::vector<ListedPacket> list_clusters(InputContext& input, AVStream& stream, std::span<const ByteRange> ranges) {
    const auto number = video_number(input, stream);
    return list_blocks(stream, input.look([&](ByteReader& reader) {
        reader.will_read(ranges);
        return read_matroska_blocks(reader, number, ranges);
    }));
}

std::vector<ListedPacket> list_packets(InputContext& input, AVStream& stream, bool predicts) {
    const std::string_view format(input.context().iformat->name);
    if (input.reader() == nullptr || !input.seekable()) return {};
    if (format.starts_with("mov,"))
        return avformat_index_get_entries_count(&stream) < 1 ? std::vector<ListedPacket>{} : list_mp4(input, stream);
    if (format.starts_with("matroska")) {
        if (!input.reader()->fetches_ahead()) return list_matroska(input, stream);
        return predicts ? list_cued(input, stream) : std::vector<ListedPacket>{};
    }
    return {};
}

}  // namespace tricodec
