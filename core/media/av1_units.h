// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "media/bit_reader.h"
#include "media/nal.h"

namespace tricodec {

/// Finds in AV1's temporal units the pictures that nothing refers to: those whose frame header refreshes no slot
/// (refresh_frame_flags 0). Probabilities, motion vectors and segments are kept with the slots, so that decoding goes
/// on without such a picture as if it had been there.
///
/// Thread safety: none; units are given in decoding order.
class Av1Units {
public:
    /// Learns the sequence header of av1C (AV1 in ISO BMFF, 2.3) or of plain OBUs.
    explicit Av1Units(Bytes extradata);

    /// How many bytes of a temporal unit later ones may need: all, or those before its only shown picture where nothing
    /// refers to that one, 0 if no other picture comes before it. Hidden pictures that come first are so kept.
    [[nodiscard]] std::size_t referenced_bytes(Bytes unit);

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
    };
    static constexpr std::uint32_t kSelect = 2;  // SELECT_SCREEN_CONTENT_TOOLS, SELECT_INTEGER_MV

    [[nodiscard]] static Sequence parse_sequence(Bytes payload);
    [[nodiscard]] Picture parse_picture(Bytes payload);
    /// Calls `visit(type, whole, payload)` for each OBU; false if the bytes are not cut into OBUs properly.
    template <typename Visit>
    [[nodiscard]] static bool for_each_obu(Bytes unit, const Visit& visit);

    Sequence sequence_;
    std::uint32_t key_slots_ = 0;  // that hold a key frame: showing it again refreshes all
};

}  // namespace tricodec
