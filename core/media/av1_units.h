// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "media/bit_reader.h"
#include "media/nal.h"

namespace tricodec {

/// The slots for reference pictures that decoding a unit needs from before it, and those that it fills; bit i for slot
/// i. A slot holds all that one picture hands on to others.
struct SlotUse {
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
    friend bool operator==(const SlotUse&, const SlotUse&) = default;
};

/// Finds in AV1's temporal units the pictures that nothing refers to: those whose frame header refreshes no slot
/// (refresh_frame_flags 0). Probabilities, motion vectors and segments are kept with the slots, so that decoding goes
/// on without such a picture as if it had been there.
///
/// Thread safety: none; units are given in decoding order.
class Av1Units {
public:
    /// Learns the sequence header of av1C (AV1 in ISO BMFF, 2.3) or of plain OBUs.
    explicit Av1Units(Bytes extradata);

    struct Unit {
        /// How many bytes of the unit later ones may need: all, or those before its only shown picture where nothing
        /// refers to that one, 0 if no other picture comes before it. Hidden pictures that come first are so kept.
        std::size_t referenced_bytes = 0;
        std::optional<SlotUse> slots{};  ///< nothing where the headers leave it open
        bool key = false;                ///< its first picture is a key frame, and is shown
    };
    [[nodiscard]] Unit inspect(Bytes unit);

private:
    struct Sequence {
        bool known = false;
        bool reduced_still_picture = false;
        bool has_decoder_model = false;
        bool equal_picture_interval = false;
        bool has_layers = false;
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
        bool key = false;  ///< coded here, not shown again
    };
    static constexpr std::uint32_t kSelect = 2;  // SELECT_SCREEN_CONTENT_TOOLS, SELECT_INTEGER_MV

    [[nodiscard]] static Sequence parse_sequence(Bytes payload);
    [[nodiscard]] Picture parse_picture(Bytes payload);
    /// The slots of an inter picture's references, whose header is read up to them.
    [[nodiscard]] std::optional<std::uint8_t> parse_references(BitReader& bits, bool resilient) const;
    /// Calls `visit(type, whole, payload)` for each OBU; false if the bytes are not cut into OBUs properly.
    template <typename Visit>
    [[nodiscard]] static bool for_each_obu(Bytes unit, const Visit& visit);

    Sequence sequence_;
    std::uint32_t key_slots_ = 0;  // that hold a key frame: showing it again refreshes all
};

}  // namespace tricodec
