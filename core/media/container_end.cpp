// SPDX-License-Identifier: Apache-2.0
#include "media/container_end.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "media/byte_window.h"

namespace tricodec {
namespace {

constexpr int kMostParts = 1 << 20;  // a file of tiny parts takes a second at most

using Bytes = ByteWindow;

constexpr std::int64_t kUntold = std::numeric_limits<std::int64_t>::max();  // the size of the part was cut off, too

/// A part of a file. The next part begins at `next`.
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

/// The lists of pictures of an AVI file; OpenDML files have several. An index follows them, which decoding does not
/// need.
std::string end_of_lists(Bytes& bytes) {
    constexpr std::int64_t kHeader = 8;
    constexpr std::int64_t kListHeader = 12;
    // Placeholders that libavformat and others write before they know the size.
    const auto is_open = [](std::uint64_t length) { return length == 0 || length >= 0xfffffff0U; };
    const auto is = [&](std::int64_t position, std::string_view name) {
        const auto found = bytes.at(position, 4);
        return std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == name;
    };
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        const auto length = bytes.little_endian(position + 4, 4);
        if (!length) return std::nullopt;
        if (is(position, "RIFF")) return Part{position + kListHeader, ""};  // its chunks follow
        const auto padded = *length + (*length & 1);
        const bool pictures = is(position, "LIST") && is(position + kHeader, "movi");
        if (pictures && is_open(*length)) return std::nullopt;
        const auto end = position + kHeader + static_cast<std::int64_t>(padded);
        if (pictures && position + kHeader + static_cast<std::int64_t>(*length) <= bytes.size()) {
            return Part{std::min(end, bytes.size()), ""};  // the padding alone may be missing
        }
        if (!pictures && end > bytes.size()) return std::nullopt;
        return Part{end, "its list of pictures"};
    });
}

/// The object of an ASF file that holds the packets. An index follows it. In a live recording the object states only
/// the size of its header.
std::string end_of_objects(Bytes& bytes) {
    constexpr std::uint64_t kHeader = 0x3026b2758e66cf11;  // the first half of its GUID
    constexpr std::uint64_t kPackets = 0x3626b2758e66cf11;
    constexpr std::uint64_t kObjectHeader = 24;
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        const auto kind = bytes.big_endian(position, 8);
        const auto length = bytes.little_endian(position + 16, 8);
        if (!kind || !length || (*kind != kHeader && *kind != kPackets) || *length < kObjectHeader) return std::nullopt;
        const auto end = end_of(position, *length);
        if (!end || (*kind == kPackets && *end <= bytes.size())) return std::nullopt;
        return Part{*end, "the object of its packets"};
    });
}

/// True also where the file ends within the mark.
bool begins_with(Bytes& bytes, std::int64_t position, std::string_view mark) {
    const auto found = bytes.at(position, mark.size());
    return mark.starts_with(std::string_view(reinterpret_cast<const char*>(found.data()), found.size()));
}

/// RFC 3533, 6: pages of up to 255 pieces.
std::string end_of_pages(Bytes& bytes) {
    constexpr std::int64_t kHeader = 27;
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        if (!begins_with(bytes, position, "OggS")) return std::nullopt;
        const auto count = bytes.big_endian(position + kHeader - 1, 1);
        if (!count) return Part{kUntold, "its last page"};
        const auto pieces = bytes.at(position + kHeader, static_cast<std::size_t>(*count));
        if (pieces.size() < *count) return Part{kUntold, "its last page"};
        auto end = position + kHeader + static_cast<std::int64_t>(*count);
        for (const auto piece : pieces) end += piece;
        return Part{end, "its last page"};
    });
}

/// SMPTE ST 336: keys of 16 bytes, lengths by BER.
std::string end_of_keys(Bytes& bytes) {
    constexpr std::int64_t kKey = 16;
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        if (!begins_with(bytes, position, "\x06\x0e\x2b\x34")) return std::nullopt;
        const auto first = bytes.big_endian(position + kKey, 1);
        if (!first) return Part{kUntold, "its last part"};
        const bool is_short = *first < 0x80;
        const auto length_bytes = is_short ? 0 : static_cast<std::size_t>(*first & 0x7f);
        if (length_bytes > 8 || *first == 0x80) return std::nullopt;
        const auto length = is_short ? first : bytes.big_endian(position + kKey + 1, length_bytes);
        if (!length) return Part{kUntold, "its last part"};
        const auto end = end_of(position + kKey + 1 + static_cast<std::int64_t>(length_bytes), *length);
        return end ? std::optional(Part{*end, "its last part"}) : std::nullopt;
    });
}

std::string end_of_tags(Bytes& bytes) {
    constexpr std::int64_t kTagHeader = 11;
    constexpr std::int64_t kBackPointer = 4;
    const auto header = bytes.big_endian(5, 4);
    if (!header) return {};
    const auto first = static_cast<std::int64_t>(*header) + kBackPointer;
    return walk(bytes, first, [&](std::int64_t position) -> std::optional<Part> {
        constexpr std::array<unsigned, 3> kKinds = {8, 9, 18};  // sound, picture, script
        const unsigned kind = bytes.at(position, 1)[0] & 0x1fU;
        const auto length = bytes.big_endian(position + 1, 3);
        if (std::ranges::find(kKinds, kind) == kKinds.end()) return std::nullopt;
        if (!length) return Part{kUntold, "its last tag"};
        const auto end = position + kTagHeader + static_cast<std::int64_t>(*length);
        return Part{end > bytes.size() ? end : std::min(end + kBackPointer, bytes.size()), "its last tag"};
    });
}

std::string end_of_ivf(Bytes& bytes) {
    constexpr std::int64_t kFrameHeader = 12;
    const auto header = bytes.little_endian(6, 2);
    if (!header) return {};
    return walk(bytes, static_cast<std::int64_t>(*header), [&](std::int64_t position) -> std::optional<Part> {
        const auto length = bytes.little_endian(position, 4);
        if (!length) return Part{kUntold, "its last frame"};
        return Part{position + kFrameHeader + static_cast<std::int64_t>(*length), "its last frame"};
    });
}

/// AV1 5.3: units that state their sizes, or, in `temporal_units`, Annex B's.
std::string end_of_units(Bytes& bytes, bool temporal_units) {
    return walk(bytes, 0, [&](std::int64_t position) -> std::optional<Part> {
        std::int64_t header = 0;
        if (!temporal_units) {
            const unsigned first = bytes.at(position, 1)[0];
            const bool forbidden = (first & 0x80) != 0;
            const bool sized = (first & 2) != 0;
            if (forbidden || !sized) return std::nullopt;
            header = (first & 4) != 0 ? 2 : 1;
        }
        const auto length = read_leb128(bytes.at(position + header, 8));
        if (!length) {
            const bool at_end = bytes.size() - position < header + 8;
            return at_end ? std::optional(Part{kUntold, "its last unit"}) : std::nullopt;
        }
        const auto end = end_of(position + header + static_cast<std::int64_t>(length->num_bytes), length->value);
        return end ? std::optional(Part{*end, "its last unit"}) : std::nullopt;
    });
}

/// ISO/IEC 13818-1: packets of 188 bytes, with 4 bytes before each (a time, on discs) or 16 after it (parity). The
/// packets are located at the end of the file, because bytes may be missing earlier.
std::string end_of_transport(Bytes& bytes) {
    constexpr std::uint8_t kSync = 0x47;
    constexpr std::size_t kPacket = 188;
    constexpr std::size_t kFewest = 5;
    for (const std::size_t distance : {std::size_t{188}, std::size_t{192}, std::size_t{204}}) {
        const auto wanted = static_cast<std::int64_t>(distance * (kFewest + 1));
        const auto tail = bytes.at(std::max<std::int64_t>(0, bytes.size() - wanted), static_cast<std::size_t>(wanted));
        for (std::size_t phase = 0; phase < distance && phase + distance * (kFewest - 1) < tail.size(); ++phase) {
            std::size_t last = phase;
            bool fits = true;
            for (std::size_t place = phase; place < tail.size() && fits; place += distance) {
                fits = tail[place] == kSync;
                last = place;
            }
            if (!fits) continue;
            const auto left = tail.size() - last;
            if (left >= kPacket) return {};
            return text_of("its last packet", bytes.size() + static_cast<std::int64_t>(kPacket - left), bytes.size());
        }
    }
    return {};
}

}  // namespace

std::string cut_short(std::string_view format_name, ByteReader& reader) {
    Bytes bytes(reader);
    if (format_name == "mov,mp4,m4a,3gp,3g2,mj2") return end_of_boxes(bytes);
    if (format_name == "matroska,webm") return end_of_elements(bytes);
    if (format_name == "avi") return end_of_lists(bytes);
    if (format_name == "asf") return end_of_objects(bytes);
    if (format_name == "ogg") return end_of_pages(bytes);
    if (format_name == "mxf") return end_of_keys(bytes);
    if (format_name == "flv") return end_of_tags(bytes);
    if (format_name == "ivf") return end_of_ivf(bytes);
    if (format_name == "obu") return end_of_units(bytes, false);
    if (format_name == "av1") return end_of_units(bytes, true);
    if (format_name == "mpegts") return end_of_transport(bytes);
    return {};
}

}  // namespace tricodec
