// SPDX-License-Identifier: Apache-2.0
/// Boxes of ISO/IEC 14496-12, 4.2: what MP4 and QuickTime files are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/bit_reader.h"
#include "tricodec/io/media_source.h"

namespace tricodec::mp4 {

using Payload = std::span<const std::uint8_t>;

inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kLongHeaderBytes = 16;

/// The number of `count` bytes at `at`; 0 past the end.
[[nodiscard]] inline std::uint64_t number(Payload bytes, std::size_t at, std::size_t count = 4) {
    return at + count <= bytes.size() ? big_endian(bytes.subspan(at, count)) : 0;
}

struct BoxHeader {
    std::string_view name;     ///< in the bytes that were read
    std::uint64_t length = 0;  ///< of the box, with its header
    std::size_t header_bytes = kHeaderBytes;
};

/// The header at the start of the bytes. `left`: bytes up to the end of the parent. Nothing if no box can be there.
[[nodiscard]] std::optional<BoxHeader> read_header(Payload bytes, std::uint64_t left);

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
[[nodiscard]] Payload find_box(Payload bytes, std::span<const std::string_view> path);
/// The number of a `trak` box.
[[nodiscard]] std::uint32_t track_id_of(Payload track);

/// `count` bytes at a position; fewer at the end.
[[nodiscard]] std::vector<std::uint8_t> read_at(ByteReader& reader, std::int64_t position, std::size_t count);
/// Where a fragment begins with a header (`moof`) that the end of the source cuts off; nothing if none does.
[[nodiscard]] std::optional<std::int64_t> cut_fragment(ByteReader& reader);
/// The payload of `moov`; empty if there is none.
[[nodiscard]] std::vector<std::uint8_t> read_moov(ByteReader& reader);

}  // namespace tricodec::mp4
