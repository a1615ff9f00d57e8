// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "image/cuda/band_args.h"
#include "image/cuda/intrinsics.h"
#include "image/filter.h"

namespace tricodec::image::gpu {

/// A vertical filter as band_kernel.h's products take it (BandPlane's tables).
struct BandRows {
    std::vector<BandRange> ranges;
    std::vector<BandRange> blocks;
    std::vector<Words4> weights;
    int pitch = 0;
    int most = 0;  ///< rows of a block that products read: a tile's in sixteens
};

/// A horizontal filter likewise, for planes that have `parts` components side by side, of `sample_bytes` bytes each.
struct BandColumnsWords {
    std::vector<BandRange> bytes;
    std::vector<BandRange> ranges;
    std::vector<Words4> words;
    int header = 0;
    int most = 0;  ///< words of a unit
};

[[nodiscard]] BandRows make_band_rows(const Filter& filter);
[[nodiscard]] BandColumnsWords make_band_columns(const Filter& filter, int sample_bytes, int parts);

}  // namespace tricodec::image::gpu
