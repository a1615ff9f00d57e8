// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bitstream/nal.h"

namespace tricodec {

/// The start of a VP9 frame's uncompressed_header() (6.2 of the specification), as far as refresh_frame_flags.
struct Vp9Header {
    unsigned profile = 0;
    int shown_slot = -1;  ///< the slot of the picture that is shown again; such a frame codes nothing
    bool key = false;
    bool shown = false;
    std::uint8_t refreshed_slots = 0;  ///< bit i: the picture goes to slot i
    // Of key frames.
    int width = 0;
    int height = 0;
    int depth = 8;
    unsigned color_space = 0;
    bool full_range = false;
    bool subsampled_x = true;
    bool subsampled_y = true;
};

/// Nothing if the frame is not VP9, or is cut off before its header ends.
[[nodiscard]] std::optional<Vp9Header> parse_vp9_header(Bytes frame);

/// The frames of a packet: itself, or those of a superframe (annex B). Nothing if a superframe's sizes do not fit.
[[nodiscard]] std::optional<std::vector<Bytes>> vp9_frames(Bytes packet);

}  // namespace tricodec
