// SPDX-License-Identifier: Apache-2.0
#include "media/mp4_table.h"

#include <algorithm>
#include <string_view>

#include "media/mp4_boxes.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

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

}  // namespace

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

}  // namespace tricodec
