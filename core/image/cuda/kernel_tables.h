// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "image/filter.h"

namespace tricodec::image::gpu {

/// A horizontal filter in whole words of four columns (ColumnTable): first is a multiple of 4, then pitch coefficients.
struct PackedColumns {
    int pitch = 0;
    std::vector<std::int32_t> first;
    std::vector<std::int16_t> coefs;
};

/// A vertical filter with an even number of coefficients an output (RowTable).
struct PackedRows {
    int pitch = 0;
    std::vector<std::int16_t> coefs;
};

/// The columns that each tile of `tile_width` outputs reads, from a multiple of 16 to a multiple of 16.
struct TileColumns {
    std::vector<std::int32_t> begin;
    std::vector<std::int32_t> end;
    int most = 0;  ///< columns of a tile
};

[[nodiscard]] PackedColumns pack_columns(const Filter& filter);
[[nodiscard]] PackedRows pack_rows(const Filter& filter);
[[nodiscard]] TileColumns tile_columns_of(const Filter& filter, const PackedColumns& packed, int tile_width);

}  // namespace tricodec::image::gpu
