// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// What band_kernel.h takes, and the order in which its tables stand.

inline constexpr int kBandWarps = 4;   ///< of a block, one below the other: they share columns' coefficients
inline constexpr int kBandRows = 8;    ///< of the grid, a warp's
inline constexpr int kBandTiles = 4;   ///< a warp's products side by side
inline constexpr int kBandWidth = 32;  ///< grid points of them
inline constexpr int kBandBytes = 64;  ///< of a source row that a warp takes at a time
inline constexpr int kBandSize = 32 * kBandBytes;
inline constexpr int kBandSlots = 4;  ///< bands that a warp has room for, a power of two
inline constexpr int kVBias = 4096;

/// One plane and its tables. Rows' tables go by the grid's eight rows, columns' by its 32 columns, a "unit".
struct BandPlane {
    std::int32_t row_bytes;         ///< up to the end of the crop: nothing beyond is read
    std::int32_t bits;              ///< of a stored sample, unused low bits included
    std::uint32_t mask;             ///< of four stored bytes: takes unused bits away
    const std::int32_t* first_row;  ///< of the source that the eight rows need
    const std::int32_t* num_rows;   ///< of the source that they need
    const Words4* row_weights;   ///< for every 32 rows of the source, by lane: a of Product, high bytes in rows 0 to 7
    std::int32_t row_pitch;      ///< of row_weights: 32 rows of the source
    std::int32_t column_pitch;   ///< of `active` and column_weights: 64 bytes of the source
    const std::int32_t* begin;   ///< by unit: the first byte that is taken, a multiple of 16
    const std::int32_t* steps;   ///< by unit: how many times 64 bytes are
    const std::int32_t* active;  ///< by 64 bytes: a bit for each tile that has coefficients there
    const Words4* column_weights;  ///< by 64 bytes, 32 of V's columns, tile, lane: b of Product, high bytes, low bytes
};

/// How two points side by side are stored at once.
enum class Pairs : std::int32_t {
    none,         ///< element by element
    of_channels,  ///< a channel of both
    of_points,    ///< six elements that follow one another, two by two
};

struct BandArgs {
    BandPlane planes[3];
    std::int32_t num_planes;
    std::int32_t grid_width;
    std::int32_t grid_height;
    Pairs pairs;
    OutputArgs output;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

/// How V's columns stand in registers: of 64 bytes a component has kQuads times four columns a lane, two of them in the
/// 8 bytes of lane number 2 t, two in those of 2 t + 1.
template <int kSampleBytes, int kParts>
struct BandColumns {
    static constexpr int kOfLane = 8 / (kSampleBytes * kParts);  ///< columns of a component in a lane's 8 bytes
    static constexpr int kQuads = kOfLane / 2;
    static constexpr int kGroups = (kQuads + 1) / 2;  ///< of 32 columns
};

/// The column of column `k` of four, of quad `quad`, for a lane with t = lane % 4, counted from the 64 bytes' first.
TRICODEC_KERNEL int band_column(int of_lane, int quad, int k, int t) {
    return (2 * t + k % 2) * of_lane + 2 * quad + k / 2;
}

/// The source row of row `k` of 32 in a product, counted from the first: so that one load of a warp takes four rows
/// that follow one another.
TRICODEC_KERNEL int band_row(int k) {
    return k / 16 * 16 + k % 4 * 4 + k % 16 / 4;
}

}  // namespace tricodec::image::gpu
