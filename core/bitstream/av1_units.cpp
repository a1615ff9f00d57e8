// SPDX-License-Identifier: Apache-2.0
#include "bitstream/av1_units.h"

#include <algorithm>

namespace tricodec {
namespace {

// obu_type (6.2.2 of the AV1 specification), frame_type (6.8.2).
constexpr unsigned kSequenceHeader = 1, kFrameHeader = 3, kTileGroup = 4, kFrame = 6, kRedundantHeader = 7,
                   kTileList = 8;
constexpr std::uint32_t kKeyFrame = 0, kIntraOnlyFrame = 2, kSwitchFrame = 3;
constexpr std::uint32_t kAllSlots = 0xff;
constexpr std::size_t kAv1cHeaderBytes = 4;

BitReader bits_of(Bytes bytes) {
    return BitReader({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

/// Skips a uvlc() (4.10.3).
void skip_uvlc(BitReader& bits) {
    int zeros = 0;
    while (bits.ok() && zeros < 32 && !bits.flag()) ++zeros;
    if (zeros < 32) bits.skip(zeros);
}

}  // namespace

Av1Units::Av1Units(Bytes extradata) {
    const bool is_av1c = extradata.size() > kAv1cHeaderBytes && byte_at(extradata, 0) == 0x81;  // marker, version 1
    const auto obus = is_av1c ? extradata.subspan(kAv1cHeaderBytes) : extradata;
    // If these headers are damaged, the stream brings them again.
    (void)for_each_obu(obus, [&](unsigned type, std::size_t, Bytes payload) {
        if (type == kSequenceHeader) sequence_ = parse_sequence(payload);
    });
}

Av1Units::Unit Av1Units::inspect(Bytes unit) {
    std::size_t referenced = unit.size();
    bool found = false;
    bool all = false;
    bool has_sequence = false;
    bool key = false;
    int num_pictures = 0;
    int num_shown = 0;
    SlotUse slots;
    bool slots_known = true;
    bool awaits_tiles = false;
    bool incomplete = false;  // a header has no tiles: no decoder makes its picture, whatever it says of slots
    Bytes header;             // of the latest picture that has its tiles in other units
    const auto key_slots = key_slots_;
    const bool split = for_each_obu(unit, [&](unsigned type, std::size_t begin, Bytes payload) {
        // A copy of the header in force says nothing new. What claims to be one and is none is a header (5.9.1).
        if (type == kRedundantHeader) {
            if (!header.empty() && std::ranges::equal(header, payload)) return;
            type = kFrameHeader;
        }
        if (type == kSequenceHeader) {
            sequence_ = parse_sequence(payload);
            all = has_sequence = true;
        } else if (type == kTileGroup) {
            awaits_tiles = false;
        } else if (type == kFrameHeader || type == kFrame) {
            const Picture picture = sequence_.known ? parse_picture(payload) : Picture{};
            incomplete = incomplete || awaits_tiles;
            awaits_tiles = type == kFrameHeader && picture.coded;
            header = awaits_tiles ? payload : Bytes{};
            if (picture.shown) ++num_shown;
            key = key || (num_pictures++ == 0 && picture.key && picture.shown);
            slots_known = slots_known && picture.slots;
            if (slots_known) {
                slots.reads |= static_cast<std::uint8_t>(picture.slots->reads & ~slots.writes);
                slots.writes |= picture.slots->writes;
            }
            // A picture is left out with everything after it, so no other picture may follow.
            all = all || found;
            if (picture.shown && !picture.referenced) {
                found = true;
                referenced = begin;
            }
        } else if (type == kTileList) {
            all = true;
            slots_known = false;
        }
    });
    incomplete = incomplete || awaits_tiles;
    if (incomplete) {
        key_slots_ = key_slots;
        slots_known = key = false;
        all = true;
    }
    // The next pictures may need new headers, so a unit with a sequence header is never left out.
    const bool closed = slots_known && slots.writes == kAllSlots && slots.reads == 0;
    slots_known = slots_known && split && !sequence_.has_layers && (closed || !has_sequence);
    const bool shows_one = sequence_.has_layers || (split && !incomplete && num_shown == 1);
    const auto known_slots = slots_known ? std::optional(slots) : std::nullopt;
    Unit result{unit.size(), known_slots, key, shows_one};
    if (!split || all || !found || num_shown != 1 || sequence_.has_layers) return result;
    // Without a picture before it, what comes first are delimiters and metadata.
    bool has_other = false;
    (void)for_each_obu(unit.first(referenced), [&](unsigned type, std::size_t, Bytes) {
        has_other = has_other || type == kFrameHeader || type == kFrame || type == kTileGroup;
    });
    result.referenced_bytes = has_other ? referenced : 0;
    return result;
}

// sequence_header_obu(), 5.5.1.
Av1Units::Sequence Av1Units::parse_sequence(Bytes payload) {
    Sequence sequence;
    auto bits = bits_of(payload);
    const auto profile = bits.bits(3);
    bits.skip(1);  // still_picture
    sequence.reduced_still_picture = bits.flag();
    if (sequence.reduced_still_picture) {
        bits.skip(5);
    } else {
        int delay_bits = 0;
        int removal_bits = 0;
        if (bits.flag()) {  // timing_info
            bits.skip(32);
            bits.skip(32);
            sequence.equal_picture_interval = bits.flag();
            if (sequence.equal_picture_interval) skip_uvlc(bits);
            sequence.has_decoder_model = bits.flag();
            if (sequence.has_decoder_model) {
                delay_bits = static_cast<int>(bits.bits(5)) + 1;
                bits.skip(32);
                removal_bits = static_cast<int>(bits.bits(5)) + 1;
                sequence.presentation_time_bits = static_cast<int>(bits.bits(5)) + 1;
            }
        }
        const bool has_display_delay = bits.flag();
        const int num_points = static_cast<int>(bits.bits(5)) + 1;
        for (int i = 0; i < num_points; ++i) {
            sequence.has_layers = sequence.has_layers || bits.bits(12) != 0;  // operating_point_idc
            if (bits.bits(5) > 7) bits.skip(1);                               // level, tier
            if (sequence.has_decoder_model && bits.flag()) {
                bits.skip(delay_bits);
                bits.skip(delay_bits);
                bits.skip(1);
                sequence.removal_time_bits = removal_bits;
            }
            if (has_display_delay && bits.flag()) bits.skip(4);
        }
        sequence.has_layers = sequence.has_layers || num_points > 1;
    }
    const int width_bits = static_cast<int>(bits.bits(4)) + 1;
    const int height_bits = static_cast<int>(bits.bits(4)) + 1;
    bits.skip(width_bits + height_bits);
    if (!sequence.reduced_still_picture && bits.flag()) {
        const int delta_bits = static_cast<int>(bits.bits(4)) + 2;
        sequence.frame_id_bits = static_cast<int>(bits.bits(3)) + 1 + delta_bits;
    }
    bits.skip(3);  // superblock size, filter_intra, intra_edge_filter
    if (!sequence.reduced_still_picture) {
        bits.skip(4);  // interintra, masked compound, warped motion, dual filter
        const bool has_order_hint = bits.flag();
        if (has_order_hint) bits.skip(2);
        if (!bits.flag()) sequence.screen_content_tools = bits.bits(1);
        if (sequence.screen_content_tools > 0 && !bits.flag()) sequence.integer_mv = bits.bits(1);
        if (has_order_hint) sequence.order_hint_bits = static_cast<int>(bits.bits(3)) + 1;
    }
    bits.skip(3);  // superres, CDEF, restoration
    sequence.chroma_location = parse_chroma_location(bits, profile);
    sequence.known = bits.ok();
    return sequence;
}

// color_config(), 5.5.2.
ChromaLocation Av1Units::parse_chroma_location(BitReader& bits, std::uint32_t profile) {
    constexpr std::uint32_t kProfessional = 2, kBt709 = 1, kSrgb = 13, kIdentity = 0;
    const bool high_bit_depth = bits.flag();
    const bool twelve_bits = profile == kProfessional && high_bit_depth && bits.flag();
    if (profile != 1 && bits.flag()) return ChromaLocation::unspecified;  // mono_chrome
    if (bits.flag()) {                                                    // color_description_present_flag
        const auto primaries = bits.bits(8), transfer = bits.bits(8), matrix = bits.bits(8);
        if (primaries == kBt709 && transfer == kSrgb && matrix == kIdentity) return ChromaLocation::unspecified;
    }
    bits.skip(1);  // color_range
    const bool halves_both = profile == 0 || (twelve_bits && bits.flag() && bits.flag());
    if (!halves_both) return ChromaLocation::unspecified;
    const auto position = bits.bits(2);  // chroma_sample_position
    return position == 1 ? ChromaLocation::left : position == 2 ? ChromaLocation::topleft : ChromaLocation::unspecified;
}

// uncompressed_header(), 5.9.2, as far as ref_frame_idx. What else a picture takes from others (probabilities, motion
// vectors, segments, film grain) comes from the slots named there.
Av1Units::Picture Av1Units::parse_picture(Bytes payload) {
    if (sequence_.reduced_still_picture) return {true, true, {}, true, true};
    auto bits = bits_of(payload);
    Picture picture;
    if (bits.flag()) {  // show_existing_frame: costs nothing, and a key frame takes all slots
        const auto slot = bits.bits(3);
        const bool key = (key_slots_ >> slot & 1) != 0;
        if (key) key_slots_ = kAllSlots;
        const auto read = static_cast<std::uint8_t>(1U << slot);
        return {true, true, SlotUse{read, static_cast<std::uint8_t>(key ? kAllSlots : 0)}};
    }
    picture.coded = true;
    const auto type = bits.bits(2);
    picture.shown = bits.flag();
    picture.key = type == kKeyFrame;
    if (picture.shown && sequence_.has_decoder_model && !sequence_.equal_picture_interval) {
        bits.skip(sequence_.presentation_time_bits);
    }
    if (!picture.shown) bits.skip(1);  // showable_frame
    const bool shown_key = type == kKeyFrame && picture.shown;
    const bool resilient = type == kSwitchFrame || shown_key || bits.flag();
    bits.skip(1);  // disable_cdf_update
    const auto screen_content =
        sequence_.screen_content_tools == kSelect ? bits.bits(1) : sequence_.screen_content_tools;
    if (screen_content > 0 && sequence_.integer_mv == kSelect) bits.skip(1);
    bits.skip(sequence_.frame_id_bits);
    if (type != kSwitchFrame) bits.skip(1);  // frame_size_override_flag
    bits.skip(sequence_.order_hint_bits);
    const bool intra = type == kKeyFrame || type == kIntraOnlyFrame;
    if (!intra && !resilient) bits.skip(3);  // primary_ref_frame
    if (sequence_.has_decoder_model && bits.flag()) bits.skip(sequence_.removal_time_bits);
    const auto refreshed = type == kSwitchFrame || shown_key ? kAllSlots : bits.bits(8);
    if (!bits.ok()) return {picture.shown, true, {}, picture.key, true};
    key_slots_ = type == kKeyFrame ? key_slots_ | refreshed : key_slots_ & ~refreshed;
    picture.referenced = refreshed != 0;
    const auto writes = static_cast<std::uint8_t>(refreshed);
    if (intra) {
        picture.slots = SlotUse{0, writes};
    } else if (const auto reads = parse_references(bits, resilient)) {
        picture.slots = SlotUse{*reads, writes};
    }
    return picture;
}

std::optional<std::uint8_t> Av1Units::parse_references(BitReader& bits, bool resilient) const {
    constexpr int kNumSlots = 8;
    constexpr int kReferencesPerFrame = 7;
    if (sequence_.frame_id_bits > 0) return std::nullopt;  // ids of skipped pictures would be missed
    if (resilient) {
        for (int i = 0; i < kNumSlots; ++i) bits.skip(sequence_.order_hint_bits);  // ref_order_hint
    }
    // frame_refs_short_signaling: found by the order of all slots.
    if (sequence_.order_hint_bits > 0 && bits.flag()) return std::nullopt;
    std::uint32_t reads = 0;
    for (int i = 0; i < kReferencesPerFrame; ++i) reads |= 1U << bits.bits(3);
    if (!bits.ok()) return std::nullopt;
    return static_cast<std::uint8_t>(reads);
}

}  // namespace tricodec
