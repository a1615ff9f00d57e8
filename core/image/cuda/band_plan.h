// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "image/cuda/intrinsics.h"
#include "image/filter.h"

namespace tricodec::image::gpu {

/// A vertical filter as band_kernel.h's products take it (BandPlane's tables).
struct BandRows {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> count;
    std::vector<Words4> weights;
    int pitch = 0;
};

/// A horizontal filter likewise, for planes that have `parts` components side by side, of `sample_bytes` bytes each.
struct BandColumnsTable {
    std::vector<std::int32_t> begin;
    std::vector<std::int32_t> steps;
    std::vector<std::int32_t> active;
    std::vector<Words4> weights;
    int pitch = 0;
};

[[nodiscard]] BandRows make_band_rows(const Filter& filter);
[[nodiscard]] BandColumnsTable make_band_columns(const Filter& filter, int sample_bytes, int parts);

/// Bytes of the tables that make_band_columns() would make.
[[nodiscard]] std::size_t band_columns_bytes(const Filter& filter, int sample_bytes, int parts);

}  // namespace tricodec::image::gpu
