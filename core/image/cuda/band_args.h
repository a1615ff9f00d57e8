// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// What band_kernel.h takes, and the order in which its tables stand.

inline constexpr int kBandWarps = 4;  ///< of a block, one below the other: they share source rows and coefficients
inline constexpr int kBandThreads = 32 * kBandWarps;
inline constexpr int kBandBlocks = 5;                   ///< that a multiprocessor has registers for
inline constexpr int kBandCopyRows = kBandThreads / 4;  ///< of the source, that a block copies 64 bytes of at once
inline constexpr int kBandRows = 8;                     ///< of the grid, a warp's
inline constexpr int kBandTiles = 4;                    ///< a warp's products side by side
inline constexpr int kBandWidth = 32;                   ///< grid points of them
inline constexpr int kBandBytes = 64;                   ///< of a source row that a block takes at a time
inline constexpr int kBandStages = 3;                   ///< in shared memory: kBandBytes of all rows that a block needs
inline constexpr int kBandEntry = 32 * 16;              ///< bytes of coefficients of a tile for a group of columns
inline constexpr int kVBias = 4096;

/// Some rows of the source, some bytes of its rows, some words of a table.
struct BandRange {
    std::int32_t first;
    std::int32_t count;
};

/// One plane and its rows' tables: by the grid's eight rows, a "tile".
struct BandPlane {
    std::int32_t axis;            ///< which of the columns' tables is its
    std::int32_t bits;            ///< of a stored sample, unused low bits included
    std::uint32_t mask;           ///< of four stored bytes: takes unused bits away
    std::int32_t row_pitch;       ///< of row_weights: 32 rows of the source
    const BandRange* rows;        ///< that a tile needs
    const BandRange* block_rows;  ///< that kBandWarps tiles need
    const Words4* row_weights;    ///< for every 32 rows of the source, by lane: a of Product, high bytes in rows 0 to 7
};

/// Columns' tables of a kind of planes, by the grid's 32 columns, a "unit". A unit's words are copied to shared memory
/// at `place`: `header` of them have an integer for each 64 bytes of the source, with a bit for each tile that has
/// coefficients there. Then come, for each of these bits and each group of columns, 32 words by lane: b of Product,
/// high bytes, low bytes.
struct BandColumnsTable {
    const BandRange* bytes;  ///< of the source rows that a unit needs, from a multiple of 32 on
    const BandRange* ranges;
    const Words4* words;
    std::int32_t header;
    std::int32_t place;
};

/// What a block takes of a plane.
struct alignas(16) BandWork {
    BandRange rows;
    BandRange bytes;
    BandRange tile_rows[kBandWarps];  ///< none where there is no tile
};

/// How two points side by side are stored at once.
enum class Pairs : std::int32_t {
    none,         ///< element by element
    of_channels,  ///< a channel of both
    of_points,    ///< six elements that follow one another, two by two
};

struct BandArgs {
    BandPlane planes[3];
    BandColumnsTable columns[2];
    std::int32_t num_planes;
    std::int32_t num_axes;
    std::int32_t num_frames;
    std::int32_t shares;  ///< of the frames: a block takes every such one
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t stage_bytes;
    std::int32_t work_place;  ///< of a BandWork for each plane in shared memory
    Pairs pairs;
    std::int32_t eights;  ///< eight points of a channel can be stored at once
    OutputArgs output;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

/// How V's columns stand in registers: 64 bytes have kGroups times 32 columns of a component, or 16, of which a lane
/// has four side by side for the first 16, and four for the next.
template <int kSampleBytes, int kParts>
struct BandColumns {
    static constexpr int kColumns = kBandBytes / (kSampleBytes * kParts);
    static constexpr int kGroups = kColumns == 64 ? 2 : 1;
    static constexpr int kQuads = kColumns == 16 ? 1 : 2;  ///< in a group
};

/// The column of column `k` of a product, of group `group`, where 64 bytes have `columns`, counted from their first. It
/// is the order in which a product with the rows' coefficients leaves them.
TRICODEC_KERNEL int band_column(int columns, int group, int k) {
    const int t = k % 16 / 4;
    if (columns == 64) return 32 * group + k;
    return columns == 32 ? 8 * (k / 16 * 2 + k % 4 / 2) + 2 * t + k % 2 : 4 * (k % 4) + t;
}

/// The source row of row `k` of 32 in a product, counted from the first: so that transposed loads have them in place.
TRICODEC_KERNEL int band_row(int k) {
    return k / 16 * 16 + k % 4 / 2 * 8 + k % 16 / 4 * 2 + k % 2;
}

}  // namespace tricodec::image::gpu
