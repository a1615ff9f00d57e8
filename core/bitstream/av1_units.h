// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bitstream/nal.h"
#include "io/bit_reader.h"
#include "tricodec/tensor/color.h"

namespace tricodec {

/// Calls `visit(type, position, payload)` for each OBU; false if the bytes are not cut into OBUs properly.
template <typename Visit>
[[nodiscard]] bool for_each_obu(Bytes unit, const Visit& visit) {
    std::size_t at = 0;
    while (at < unit.size()) {
        const unsigned header = byte_at(unit, at);
        const bool extended = (header & 4) != 0;
        const bool sized = (header & 2) != 0;
        const std::size_t header_bytes = extended ? 2 : 1;
        if ((header & 0x80) != 0 || unit.size() - at < header_bytes) return false;
        std::size_t payload_at = at + header_bytes;
        std::size_t payload_bytes = unit.size() - payload_at;
        if (sized) {
            const auto length = read_leb128(unit.subspan(payload_at));
            if (!length || length->value > payload_bytes - length->num_bytes) return false;
            payload_at += length->num_bytes;
            payload_bytes = length->value;
        }
        visit(header >> 3 & 15, at, unit.subspan(payload_at, payload_bytes));
        at = payload_at + payload_bytes;
    }
    return true;
}

/// The slots for reference pictures that a unit needs from earlier units, and the slots that it fills; bit i for slot
/// i. A slot holds everything that later pictures use of one picture.
struct SlotUse {
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
    friend bool operator==(const SlotUse&, const SlotUse&) = default;
};

/// Finds the pictures in AV1's temporal units that nothing refers to: their frame headers refresh no slot
/// (refresh_frame_flags 0). Slots also keep probabilities, motion vectors and segments, so that decoding without such
/// a picture gives the same frames.
///
/// Thread safety: none; units are given in decoding order.
class Av1Units {
public:
    /// Learns the sequence header of av1C (AV1 in ISO BMFF, 2.3) or of plain OBUs.
    explicit Av1Units(Bytes extradata);

    struct Unit {
        /// How many bytes of the unit later units may need. If nothing refers to its only shown picture, these are the
        /// bytes before that picture, with the hidden pictures, or 0 if there are none. Otherwise all bytes.
        std::size_t referenced_bytes = 0;
        std::optional<SlotUse> slots{};  ///< nothing if the headers do not say
        bool key = false;                ///< its first picture is a key frame, and is shown
        bool shows_one = true;           ///< false: its headers do not say that it shows one picture
    };
    [[nodiscard]] Unit inspect(Bytes unit);

    /// As the sequence header in force says; nothing without one.
    [[nodiscard]] std::optional<ChromaLocation> chroma_location() const noexcept {
        return sequence_.known ? std::optional(sequence_.chroma_location) : std::nullopt;
    }

private:
    struct Sequence {
        bool known = false;
        bool reduced_still_picture = false;
        bool has_decoder_model = false;
        bool equal_picture_interval = false;
        bool has_layers = false;
        ChromaLocation chroma_location = ChromaLocation::unspecified;
        int presentation_time_bits = 0;
        int frame_id_bits = 0;  ///< 0: frames carry no ids
        std::uint32_t screen_content_tools = kSelect;
        std::uint32_t integer_mv = kSelect;
        int order_hint_bits = 0;
        /// Of the only operating point: bits of its buffer removal time, 0 without.
        int removal_time_bits = 0;
    };
    struct Picture {
        bool shown = false;
        bool referenced = true;
        std::optional<SlotUse> slots{};
        bool key = false;    ///< coded here, not shown again
        bool coded = false;  ///< its tiles follow the header
    };
    static constexpr std::uint32_t kSelect = 2;  // SELECT_SCREEN_CONTENT_TOOLS, SELECT_INTEGER_MV

    [[nodiscard]] static Sequence parse_sequence(Bytes payload);
    [[nodiscard]] static ChromaLocation parse_chroma_location(BitReader& bits, std::uint32_t profile);
    [[nodiscard]] Picture parse_picture(Bytes payload);
    /// The slots that an inter picture refers to; its header is read up to them.
    [[nodiscard]] std::optional<std::uint8_t> parse_references(BitReader& bits, bool resilient) const;

    Sequence sequence_;
    std::uint32_t key_slots_ = 0;  // that hold a key frame: showing it again refreshes all
};

}  // namespace tricodec
