// SPDX-License-Identifier: Apache-2.0
#include "media/mp4_table.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "media/bit_reader.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

using Payload = std::span<const std::uint8_t>;

constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kLongHeaderBytes = 16;
constexpr std::int64_t kLargestMoov = std::int64_t{256} << 20;  // ten bytes a frame: a week of video

/// The number of `count` bytes at `at`; 0 past the end.
std::uint64_t number(Payload bytes, std::size_t at, std::size_t count = 4) {
    return at + count <= bytes.size() ? big_endian(bytes.subspan(at, count)) : 0;
}

/// The header of the box at the start of the bytes: its length, with the header, and the header's.
struct BoxHeader {
    std::string_view name;
    std::uint64_t length = 0;
    std::size_t header_bytes = kHeaderBytes;
};

/// `left`: bytes up to the end of the parent. Nothing if no box can be there.
std::optional<BoxHeader> read_header(Payload bytes, std::uint64_t left) {
    if (bytes.size() < kHeaderBytes) return std::nullopt;
    BoxHeader box{{reinterpret_cast<const char*>(bytes.data()) + 4, 4}, number(bytes, 0), kHeaderBytes};
    if (box.length == 1) {
        if (bytes.size() < kLongHeaderBytes) return std::nullopt;
        box.length = number(bytes, kHeaderBytes, 8);
        box.header_bytes = kLongHeaderBytes;
    } else if (box.length == 0) {
        box.length = left;
    }
    if (box.length < box.header_bytes || box.length > left) return std::nullopt;
    return box;
}

/// Calls `visit(name, payload)` for each box. False if the bytes are no list of boxes.
template <class Visit>
bool for_each_box(Payload bytes, Visit visit) {
    while (bytes.size() >= kHeaderBytes) {
        const auto box = read_header(bytes, bytes.size());
        if (!box) return false;
        const auto length = static_cast<std::size_t>(box->length);
        visit(box->name, bytes.first(length).subspan(box->header_bytes));
        bytes = bytes.subspan(length);
    }
    return true;
}

/// The payload of the first box on a path of names; empty if there is none.
Payload find_box(Payload bytes, std::span<const std::string_view> path) {
    for (const auto wanted : path) {
        Payload found;
        for_each_box(bytes, [&](std::string_view name, Payload payload) {
            if (name == wanted && found.empty()) found = payload;
        });
        bytes = found;
    }
    return bytes;
}

std::vector<std::uint8_t> read_at(ByteReader& reader, std::int64_t position, std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    reader.seek(position);
    std::size_t filled = 0;
    while (filled < count) {
        const auto got = reader.read(std::as_writable_bytes(std::span(bytes)).subspan(filled));
        if (got == 0) break;
        filled += got;
    }
    bytes.resize(filled);
    return bytes;
}

/// The payload of `moov`; empty if there is none.
std::vector<std::uint8_t> read_moov(ByteReader& reader) {
    const auto size = reader.size_bytes().value_or(0);
    for (std::int64_t position = 0; position < size;) {
        const auto left = static_cast<std::uint64_t>(size - position);
        const auto bytes = read_at(reader, position, kLongHeaderBytes);
        const auto box = read_header(bytes, left);
        if (!box) return {};
        const auto length = static_cast<std::int64_t>(box->length);
        if (box->name == "moov") {
            if (length > kLargestMoov) return {};
            const auto header = static_cast<std::int64_t>(box->header_bytes);
            return read_at(reader, position + header, static_cast<std::size_t>(length - header));
        }
        position += length;
    }
    return {};
}

std::uint32_t track_id_of(Payload track) {
    constexpr std::string_view kPath[] = {"tkhd"};
    const auto header = find_box(track, kPath);
    const bool is_long = !header.empty() && header[0] == 1;  // 64-bit times come before the number
    return static_cast<std::uint32_t>(number(header, is_long ? 20 : 12));
}

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
    const auto moov = read_moov(reader);
    std::optional<Mp4SampleTable> found;
    bool has_fragments = false;
    const bool whole = for_each_box(moov, [&](std::string_view name, Payload payload) {
        has_fragments = has_fragments || name == "mvex";
        if (name == "trak" && !found && track_id_of(payload) == track_id) found = parse_track(payload);
    });
    return whole && !has_fragments ? found : std::nullopt;
}

}  // namespace tricodec
