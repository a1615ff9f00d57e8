// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "image/cuda/band_plan.h"
#include "image/cuda/box_args.h"

namespace tricodec::image::gpu {

/// What band_boxes.h needs to know of a plan beside what the band kernel does.
struct BoxPlan {
    std::array<int, 2> rows{};   ///< of a stage
    std::array<int, 2> width{};  ///< of the planes, in bytes, up to the crop's end
    std::array<int, 2> height{};
    int most_rows = 0;  ///< kRows: of luma that a tile needs
    int shared_bytes = 0;
    int to_tables = 0;  ///< how much further on the columns' coefficients are than the band kernel has them
};

/// Luma's rows, chroma's rows, and the band kernel's arguments and shared memory; none where a copy or a tile would
/// have too many rows.
[[nodiscard]] std::optional<BoxPlan> make_boxes(const BandRows& luma, const BandRows& chroma, const BandArgs& band,
                                                int shared_bytes);

/// Sets what `boxes` needs of frames' planes that are as far apart from frame to frame; false if they are not.
[[nodiscard]] bool set_maps(const BoxPlan& plan, BoxArgs<BoxMap>& boxes);

/// Sets how shared memory is laid out, and among how many blocks the frames are divided on a GPU that runs `at_once`;
/// `parts` are the blocks of a frame.
void lay_out_boxes(const BoxPlan& plan, int parts, int at_once, BoxArgs<BoxMap>& boxes);

}  // namespace tricodec::image::gpu
