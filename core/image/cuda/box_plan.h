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
    int header = 0;     ///< of the columns' coefficients
    int shared_bytes = 0;
};

/// Both planes' columns' coefficients as BoxArgs has them, from those that the band kernel has of each.
[[nodiscard]] BandColumnsWords make_box_columns(const BandColumnsWords& luma, const BandColumnsWords& chroma);

/// Luma's rows, chroma's rows, both planes' columns; none where a copy or a tile would have too many rows.
[[nodiscard]] std::optional<BoxPlan> make_boxes(const BandRows& luma, const BandRows& chroma,
                                                const BandColumnsWords& columns);

/// Makes the maps, and the frames' places in them, of the frames' addresses and strides in `boxes`; false if a map
/// cannot describe them.
[[nodiscard]] bool set_maps(const BoxPlan& plan, BoxArgs<BoxMap>& boxes);

/// Sets how shared memory is laid out, and among how many blocks the frames are divided on a GPU that runs `at_once`;
/// `parts` are the blocks of a frame.
void lay_out_boxes(const BoxPlan& plan, int parts, int at_once, BoxArgs<BoxMap>& boxes);

}  // namespace tricodec::image::gpu
