// SPDX-License-Identifier: Apache-2.0
#include "container/mp4_boxes.h"

namespace tricodec::mp4 {
namespace {

constexpr std::int64_t kLargestMoov = std::int64_t{256} << 20;  // ten bytes a frame: a week of video

}  // namespace

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

std::uint32_t track_id_of(Payload track) {
    constexpr std::string_view kPath[] = {"tkhd"};
    const auto header = find_box(track, kPath);
    const bool is_long = !header.empty() && header[0] == 1;  // 64-bit times come before the number
    return static_cast<std::uint32_t>(number(header, is_long ? 20 : 12));
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

std::optional<std::int64_t> cut_fragment(ByteReader& reader) {
    constexpr std::string_view kName = "moof";
    const auto size = reader.size_bytes().value_or(0);
    for (std::int64_t position = 0; position < size;) {
        const auto bytes = read_at(reader, position, kLongHeaderBytes);
        const auto box = read_header(bytes, static_cast<std::uint64_t>(size - position));
        if (!box) {
            const bool named =
                bytes.size() >= kHeaderBytes && std::equal(kName.begin(), kName.end(), bytes.begin() + 4);
            return named ? std::optional(position) : std::nullopt;
        }
        position += static_cast<std::int64_t>(box->length);
    }
    return std::nullopt;
}

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

}  // namespace tricodec::mp4
