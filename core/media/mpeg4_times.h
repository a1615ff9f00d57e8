// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/nal.h"

namespace tricodec {

/// Compares MPEG-4's pictures with the header of their layer (VOL; 6.2.3 and 6.2.5 of ISO 14496-2), which says how many
/// bits their times have.
///
/// Where a picture contradicts it, libavcodec guesses this number, and keeps its guess past key frames. What it gives
/// then depends on where decoding began.
///
/// Thread safety: none.
class Mpeg4Times {
public:
    explicit Mpeg4Times(Bytes extradata);
    /// False if the packet's first picture contradicts the header in force, or there is none. Packets are given in
    /// decoding order.
    [[nodiscard]] bool fit(Bytes packet);
    /// Back to the header beside the packets.
    void reset() noexcept { layer_ = first_layer_; }

    /// True if pictures may consist of fields.
    [[nodiscard]] bool interlaced() const noexcept { return layer_.interlaced; }

private:
    struct Layer {
        int num_bits = 0;  // 0: not known
        bool interlaced = false;
        bool studio = false;
    };
    void learn(Bytes unit);

    Layer layer_;
    Layer first_layer_;
};

/// True for MPEG-4 with fields. Each thread of libavcodec keeps the vectors of fields that it has decoded itself, and B
/// pictures take those of the picture before.
[[nodiscard]] bool is_decoded_by_one_thread(const StreamInfo& stream);

}  // namespace tricodec
