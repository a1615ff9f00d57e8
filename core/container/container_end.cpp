// SPDX-License-Identifier: Apache-2.0
#include "container/container_end.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "io/byte_window.h"

namespace tricodec {
namespace {

constexpr int kMostParts = 1 << 20;  // a file of tiny parts takes a second at most

using Bytes = ByteWindow;

constexpr std::int64_t kUntold = std::numeric_limits<std::int64_t>::max();  // the size of the part was cut off, too

struct Part {
    std::int64_t next = 0;
    const char* name = "";
};

std::string text_of(const char* part, std::int64_t next, std::int64_t size) {
    const std::string where = next == kUntold ? "has no end" : "ends at byte " + std::to_string(next);
    return std::string(part) + " " + where + ", and there are " + std::to_string(size) +
           " bytes; it was cut off or is still being written";
}

/// The end of a part of this length; nothing if no file can be so long.
std::optional<std::int64_t> end_of(std::int64_t begin, std::uint64_t length) {
    constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;
    if (length > kLongest) return std::nullopt;
    return begin + static_cast<std::int64_t>(length);
}

/// Goes from part to part. `read` gives the part at a position, which has at least a byte, or nothing if the rest of
/// the file states no size.
template <class Read>
std::string walk(Bytes& bytes, std::int64_t position, Read read) {
    for (int i = 0; i < kMostParts && !bytes.at(position, 1).empty(); ++i) {
        const std::optional<Part> part = read(position);
        if (!part || part->next <= position) return {};
        if (part->next > bytes.size()) return text_of(part->name, part->next, bytes.size());
        position = part->next;
    }
    return {};
}

/// ISO/IEC 14496-12, 4.2. An unknown box was appended by a camera, or is damage, and proves nothing.
std::string end_of_boxes(Bytes& bytes) {
    constexpr std::array<std::string_view, 18> kBoxes = {"ftyp", "styp", "moov", "moof", "mdat", "free",
                                                         "skip", "wide", "sidx", "ssix", "mfra", "uuid",
                                                         "udta", "meta", "pnot", "emsg", "prft", "pdin"};
    constexpr std::int64_t kHeader = 8;
    constexpr std::int64_t kLongHeader = 16;
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        const auto type = bytes.at(position + 4, 4);
        const std::string_view name(reinterpret_cast<const char*>(type.data()), type.size());
        const auto known = std::ranges::find(kBoxes, name);
        const auto length = bytes.big_endian(position, 4);
        if (known == kBoxes.end() || !length || *length == 0) return std::nullopt;  // 0: up to the end of the file
        const bool is_long = *length == 1;
        const auto whole = is_long ? bytes.big_endian(position + kHeader, 8) : length;
        if (!whole || *whole < static_cast<std::uint64_t>(is_long ? kLongHeader : kHeader)) return std::nullopt;
        const auto end = end_of(position, *whole);
        if (!end) return std::nullopt;
        return Part{*end, name == "mdat" ? "its 'mdat', which holds the packets," : "one of its boxes"};
    });
}

/// RFC 8794, 4 and 5: an identifier of 1 to 4 bytes, a length of 1 to 8.
std::string end_of_elements(Bytes& bytes) {
    constexpr std::uint64_t kSegment = 0x18538067;
    constexpr std::size_t kLongestIdentifier = 4;
    constexpr std::size_t kLongestLength = 8;
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        const auto first = bytes.at(position, 1)[0];
        const auto id_bytes = static_cast<std::size_t>(std::countl_zero(first)) + 1;
        if (id_bytes > kLongestIdentifier) return std::nullopt;
        const auto id = bytes.big_endian(position, id_bytes);
        const auto begin = position + static_cast<std::int64_t>(id_bytes);
        const auto mark = bytes.at(begin, 1);
        if (!id || mark.empty()) return Part{kUntold, "its last element"};
        const auto length_bytes = static_cast<std::size_t>(std::countl_zero(mark[0])) + 1;
        if (length_bytes > kLongestLength) return std::nullopt;
        const auto coded = bytes.big_endian(begin, length_bytes);
        const auto data = begin + static_cast<std::int64_t>(length_bytes);
        if (!coded) return Part{kUntold, "its last element"};
        const auto open = (std::uint64_t{1} << (7 * length_bytes)) - 1;
        const auto length = *coded & open;
        if (length == open) return Part{data, ""};  // its children follow
        const auto end = end_of(data, length);
        if (!end) return std::nullopt;
        if (*id == kSegment && *end <= bytes.size()) return std::nullopt;  // whole, whatever follows it
        return Part{*end, *id == kSegment ? "its segment" : "its last element"};
    });
}

}  // namespace

std::string cut_short(std::string_view format_name, ByteReader& reader) {
    Bytes bytes(reader);
    if (format_name == "mov,mp4,m4a,3gp,3g2,mj2") return end_of_boxes(bytes);
    if (format_name == "matroska,webm") return end_of_elements(bytes);
    return {};
}

}  // namespace tricodec
