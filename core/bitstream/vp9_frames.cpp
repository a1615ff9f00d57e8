// SPDX-License-Identifier: Apache-2.0
#include "bitstream/vp9_frames.h"

#include "io/bit_reader.h"

namespace tricodec {
namespace {

constexpr unsigned kFrameMarker = 2;
constexpr unsigned kSyncCode = 0x498342;
constexpr unsigned kRgb = 7;

/// color_config(). False if the profile has no such colors.
bool read_color(BitReader& bits, Vp9Header& header) {
    const bool any_sampling = (header.profile & 1) != 0;
    if (header.profile >= 2) header.depth = bits.flag() ? 12 : 10;
    header.color_space = bits.bits(3);
    if (header.color_space == kRgb) {
        header.full_range = true;
        header.subsampled_x = header.subsampled_y = false;
    } else {
        header.full_range = bits.flag();
        if (any_sampling) {
            header.subsampled_x = bits.flag();
            header.subsampled_y = bits.flag();
        }
    }
    if (any_sampling) bits.skip(1);
    return header.color_space != kRgb || any_sampling;
}

}  // namespace

std::optional<Vp9Header> parse_vp9_header(Bytes frame) {
    BitReader bits({reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()});
    if (bits.bits(2) != kFrameMarker) return std::nullopt;
    Vp9Header header;
    header.profile = bits.bits(1);
    header.profile |= bits.bits(1) << 1;
    if (header.profile == 3) bits.skip(1);
    if (bits.flag()) {  // show_existing_frame
        header.shown_slot = static_cast<int>(bits.bits(3));
        header.shown = true;
        return bits.ok() ? std::optional(header) : std::nullopt;
    }
    header.key = !bits.flag();
    header.shown = bits.flag();
    const bool resilient = bits.flag();
    if (header.key) {
        if (bits.bits(24) != kSyncCode || !read_color(bits, header)) return std::nullopt;
        header.width = static_cast<int>(bits.bits(16)) + 1;
        header.height = static_cast<int>(bits.bits(16)) + 1;
        header.refreshed_slots = 0xff;
    } else {
        const bool intra_only = !header.shown && bits.flag();
        if (!resilient) bits.skip(2);  // reset_frame_context
        if (intra_only) {
            if (bits.bits(24) != kSyncCode) return std::nullopt;
            if (header.profile > 0 && !read_color(bits, header)) return std::nullopt;
        }
        header.refreshed_slots = static_cast<std::uint8_t>(bits.bits(8));
    }
    return bits.ok() ? std::optional(header) : std::nullopt;
}

std::optional<std::vector<Bytes>> vp9_frames(Bytes packet) {
    if (packet.empty()) return std::nullopt;
    const unsigned marker = byte_at(packet, packet.size() - 1);
    const std::size_t num_frames = (marker & 7) + 1;
    const std::size_t size_bytes = (marker >> 3 & 3) + 1;
    const std::size_t index_bytes = 2 + size_bytes * num_frames;
    const bool superframe = (marker & 0xe0) == 0xc0 && packet.size() >= index_bytes &&
                            byte_at(packet, packet.size() - index_bytes) == marker;
    if (!superframe) return std::vector{packet};
    auto sizes = packet.last(index_bytes).subspan(1);
    auto rest = packet.first(packet.size() - index_bytes);
    std::vector<Bytes> frames;
    for (std::size_t frame = 0; frame < num_frames; ++frame) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < size_bytes; ++i) length |= std::size_t{byte_at(sizes, i)} << (8 * i);
        sizes = sizes.subspan(size_bytes);
        if (length > rest.size()) return std::nullopt;
        if (length > 0) frames.push_back(rest.first(length));
        rest = rest.subspan(length);
    }
    return frames;
}

}  // namespace tricodec
