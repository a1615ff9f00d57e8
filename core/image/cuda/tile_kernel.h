// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/copy_run.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/tile_columns.h"
#include "image/cuda/tile_rows.h"

namespace tricodec::image::gpu {

// The kernel for every plan. A block makes a tile of the grid from all components. For each segment of the columns that
// the tile reads (one segment, but for outputs that thousands of columns go into):
//   1. rows: V of the tile's rows (docs/transform.md 4.2), in shared memory as low and high bytes;
//   2. columns: the sums of 4.3 grow; with the last segment they become P and the colors of section 5, which are stored
//      to global memory, or staged in shared memory in the output's order;
//   3. store: what is staged goes out in whole 16-byte words.
// Between the steps the block waits for all of its threads. Each step is a function of a thread's number, which is how
// a CPU can run them too.

inline constexpr int kTileThreads = 256;

/// Where the elements of a tile stand while they wait for step 3.
enum class Staging : std::int32_t {
    none,     ///< they do not wait: stored one by one
    along_x,  ///< a row of the tile is a run of memory
    along_y,  ///< a column of the tile is
};

struct TileArgs {
    TilePlane planes[3];
    std::int32_t num_planes;
    RowTable rows[2];        ///< luma's, chroma's
    ColumnTable columns[2];  ///< likewise
    VRows v;
    std::int32_t component_axis[3];  ///< whose tables; -1 where nobody needs it; both chroma components or none
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t tile_width;
    std::int32_t tile_height;
    std::int32_t num_segments;
    std::int32_t segment_columns;  ///< a multiple of 16
    std::int32_t sums_offset;      ///< bytes of shared memory before sums that wait for the next segment
    std::int32_t stage_offset;     ///< before what waits for step 3
    std::int32_t stage_pitch;      ///< bytes from one run to the next
    Staging staging;
    OutputArgs output;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

/// The block's part of the grid.
struct Tile {
    int number_x;
    int x;
    int y;
    int width;
    int height;
};

TRICODEC_KERNEL Tile tile_of(const TileArgs& args, int number_x, int number_y) {
    Tile tile{};
    tile.number_x = number_x;
    tile.x = number_x * args.tile_width;
    tile.y = number_y * args.tile_height;
    const int right = args.grid_width - tile.x;
    const int below = args.grid_height - tile.y;
    tile.width = args.tile_width < right ? args.tile_width : right;
    tile.height = args.tile_height < below ? args.tile_height : below;
    return tile;
}

/// The first column of a segment, for the components of one axis.
TRICODEC_KERNEL int segment_begin(const TileArgs& args, int axis, const Tile& tile, int segment) {
    return args.columns[axis].tile_begin[tile.number_x] + segment * args.segment_columns;
}

TRICODEC_KERNEL PlaneRows plane_rows(const TileArgs& args, const FrameArgs& frame, int number, const Tile& tile,
                                     int segment) {
    const int axis = args.planes[number].axis;
    const int begin = segment_begin(args, axis, tile, segment);
    const int end = args.columns[axis].tile_end[tile.number_x];
    const int most = begin + args.segment_columns;
    return {frame.planes[number], frame.strides[number], begin, end < most ? end : most, tile.y, tile.height};
}

/// Step 1. All planes' pieces are counted through, so that no thread waits for another plane.
template <int kSampleBytes>
TRICODEC_KERNEL void tile_rows(const TileArgs& args, const Tile& tile, int segment, const FrameArgs& frame,
                               unsigned char* shared, int thread) {
    int item = thread;
    for (int i = 0; i < args.num_planes; ++i) {
        const TilePlane& plane = args.planes[i];
        const PlaneRows rows = plane_rows(args, frame, i, tile, segment);
        const int groups = v_groups<kSampleBytes>(plane, rows);
        const int items = groups * tile.height;
        for (; item < items; item += kTileThreads) {
            const int row = static_cast<int>(static_cast<unsigned>(item) / static_cast<unsigned>(groups));
            make_v<kSampleBytes>(plane, args.rows[plane.axis], args.v, rows, shared, row, item - row * groups);
        }
        item -= items;
    }
}

/// What kThreadRows grid points, one below the other, have so far.
struct PointSums {
    ColumnSums luma[1];
    ColumnSums chroma[2];
};

template <int kComponents>
TRICODEC_KERNEL void add_components(const TileArgs& args, const Tile& tile, int segment, const unsigned char* shared,
                                    int first, int x, int y, ColumnSums (&sums)[kComponents]) {
    const int axis = args.component_axis[first];
    const int pitch = args.v.pitch[axis];
    const unsigned char* low[kComponents];
    TRICODEC_UNROLL
    for (int i = 0; i < kComponents; ++i) low[i] = shared + args.v.offset[first + i] + y * pitch;
    add_columns<kComponents>(args.columns[axis], low, pitch, args.v.to_high[axis], tile.x + x,
                             segment_begin(args, axis, tile, segment), args.segment_columns, sums);
}

/// One grid point's channels, to where they belong or wait.
template <Element kElement>
TRICODEC_KERNEL void put_point(const TileArgs& args, const Tile& tile, const FrameArgs& frame, unsigned char* shared,
                               int x, int y, const std::int32_t (&p)[3]) {
    const OutputArgs& output = args.output;
    constexpr int kBytes = kElement == Element::uint8 ? 1 : kElement == Element::float32 ? 4 : 2;
    std::uint32_t elements[3];
    make_elements<kElement>(args.color, p, elements);
    if (args.staging == Staging::none) {
        unsigned char* const to = frame.out + (tile.x + x) * output.step_x + (tile.y + y) * output.step_y;
        TRICODEC_UNROLL
        for (int e = 0; e < kMaxElements; ++e) {
            if (e >= output.num_groups * output.group_size) break;
            store_element<kBytes>(to + output.element_offset[e], element_bits(elements, args.color.num_channels, e),
                                  output.aligned != 0);
        }
        return;
    }
    const bool along_y = args.staging == Staging::along_y;
    const int place = along_y ? y : x;
    const bool backwards = (along_y ? output.step_y : output.step_x) < 0;
    const int last = (along_y ? tile.height : tile.width) - 1;
    const int runs = along_y ? args.tile_width : args.tile_height;
    unsigned char* to = shared + args.stage_offset + (along_y ? x : y) * args.stage_pitch +
                        (backwards ? last - place : place) * output.group_size * kBytes;
    // A group is a whole number of elements, and the runs begin at multiples of the largest element's size.
    int place_in_group = 0;
    TRICODEC_UNROLL
    for (int e = 0; e < kMaxElements; ++e) {
        if (e >= output.num_groups * output.group_size) break;
        store_element<kBytes>(to + place_in_group * kBytes, element_bits(elements, args.color.num_channels, e), true);
        if (++place_in_group < output.group_size) continue;
        place_in_group = 0;
        to += runs * args.stage_pitch;
    }
}

/// Step 2: kThreadRows points of one column at a time.
template <Element kElement>
TRICODEC_KERNEL void tile_columns(const TileArgs& args, const Tile& tile, int segment, const FrameArgs& frame,
                                  unsigned char* shared, int thread) {
    const int items = args.tile_width * ((tile.height + kThreadRows - 1) / kThreadRows);
    for (int item = thread; item < items; item += kTileThreads) {
        const int group = static_cast<int>(static_cast<unsigned>(item) / static_cast<unsigned>(args.tile_width));
        const int x = item - group * args.tile_width;
        const int y = group * kThreadRows;
        if (x >= tile.width) continue;
        PointSums sums{};
        unsigned char* const waiting = shared + args.sums_offset + item * static_cast<int>(sizeof(PointSums));
        if (segment > 0) sums = load<PointSums>(waiting);

        const bool has_luma = args.component_axis[0] >= 0;
        const bool has_chroma = args.component_axis[1] >= 0;
        if (has_luma) add_components<1>(args, tile, segment, shared, 0, x, y, sums.luma);
        if (has_chroma) add_components<2>(args, tile, segment, shared, 1, x, y, sums.chroma);
        if (segment + 1 < args.num_segments) {
            store(waiting, sums);
            continue;
        }
        TRICODEC_UNROLL
        for (int row = 0; row < kThreadRows; ++row) {
            if (y + row >= tile.height) break;
            const std::int32_t p[3] = {has_luma ? sums.luma[0].p(row) : 8192, has_chroma ? sums.chroma[0].p(row) : 8192,
                                       has_chroma ? sums.chroma[1].p(row) : 8192};
            put_point<kElement>(args, tile, frame, shared, x, y + row, p);
        }
    }
}

/// Step 3: a warp for each run.
TRICODEC_KERNEL void tile_store(const TileArgs& args, const Tile& tile, const FrameArgs& frame,
                                const unsigned char* shared, int thread) {
    if (args.staging == Staging::none) return;
    const OutputArgs& output = args.output;
    const bool along_y = args.staging == Staging::along_y;
    const int runs = along_y ? args.tile_width : args.tile_height;
    const int used_runs = along_y ? tile.width : tile.height;
    const int points = along_y ? tile.height : tile.width;
    const std::int64_t step = along_y ? output.step_y : output.step_x;
    const std::int64_t step_run = along_y ? output.step_x : output.step_y;
    const int bytes = points * output.group_size * output.element_bytes;
    unsigned char* first = frame.out + tile.x * output.step_x + tile.y * output.step_y;
    if (step < 0) first += (points - 1) * step;
    for (int i = thread / 32; i < output.num_groups * runs; i += kTileThreads / 32) {
        const int group = i / runs;
        const int run = i - group * runs;
        if (run >= used_runs) continue;
        copy_run(first + run * step_run + output.element_offset[group * output.group_size],
                 shared + args.stage_offset + i * args.stage_pitch, bytes, thread % 32);
    }
}

}  // namespace tricodec::image::gpu
