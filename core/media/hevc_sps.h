// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "media/nal.h"

namespace tricodec {

/// What an HEVC sequence parameter set says of the size of the pictures (7.3.2.2), in luma samples.
struct HevcSps {
    unsigned id = 0;
    int coded_width = 0;
    int coded_height = 0;
    int crop_left = 0;  ///< the conformance window's; a default display window changes nothing
    int crop_right = 0;
    int crop_top = 0;
    int crop_bottom = 0;
};

/// Reads an SPS NAL unit, its header included, as far as the conformance window. Nothing if it is damaged.
[[nodiscard]] std::optional<HevcSps> parse_hevc_sps(Bytes nal);

}  // namespace tricodec
