// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/copy_run.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/tile_rows.h"

namespace tricodec::image::gpu {

// The kernel for every plan. A block makes a tile of the grid from all components. For each segment of the columns that
// the tile reads (one segment, but for outputs that thousands of columns go into):
//   1. rows: V of the tile's rows (docs/transform.md 4.2), in shared memory as low and high bytes;
//   2. columns: the sums of 4.3 grow, in shared memory;
// then
//   3. colors: P, section 5; stored to global memory, or staged in shared memory in the output's order;
//   4. store: what is staged goes out in whole 16-byte words.
// Between the steps the block waits for all of its threads. Each step is a function of a thread's number, which is how
// a CPU can run them too.

inline constexpr int kTileThreads = 256;

/// Where the elements of a tile stand while they wait for step 4.
enum class Staging : std::int32_t {
    none,     ///< elements of a grid point, or of its neighbours, are apart: stored one by one in step 3
    along_x,  ///< a row of the tile is a run of memory
    along_y,  ///< a column of the tile is
};

struct TileArgs {
    TilePlane planes[3];
    std::int32_t num_planes;
    std::int32_t num_components;  ///< with sums; the others are neutral
    RowTable rows[2];             ///< luma's, chroma's
    ColumnTable columns[2];
    VRows v;
    std::int32_t component_axis[3];  ///< 0 or 1: whose tables
    std::int32_t component_used[3];
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t tile_width;  ///< a power of two
    std::int32_t log2_tile_width;
    std::int32_t tile_height;
    std::int32_t tiles_per_row;
    std::int32_t num_segments;
    std::int32_t segment_columns;  ///< a multiple of 8
    std::int32_t sums_offset;      ///< bytes of shared memory before the sums
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

TRICODEC_KERNEL Tile tile_of(const TileArgs& args, int number) {
    Tile tile{};
    tile.number_x = number % args.tiles_per_row;
    tile.x = tile.number_x * args.tile_width;
    tile.y = number / args.tiles_per_row * args.tile_height;
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

/// Step 1.
template <int kSampleBytes>
TRICODEC_KERNEL void tile_rows(const TileArgs& args, const Tile& tile, int segment, const FrameArgs& frame,
                               unsigned char* shared, int thread) {
    for (int i = 0; i < args.num_planes; ++i) {
        const TilePlane& plane = args.planes[i];
        const int begin = segment_begin(args, plane.axis, tile, segment);
        int end = args.columns[plane.axis].tile_end[tile.number_x];
        if (end > begin + args.segment_columns) end = begin + args.segment_columns;
        const PlaneRows rows{frame.planes[i], frame.strides[i], begin, end, tile.y, tile.height};
        make_v<kSampleBytes>(plane, args.rows[plane.axis], args.v, rows, shared, thread, kTileThreads);
    }
}

/// Step 2: one component of one grid point at a time.
TRICODEC_KERNEL void tile_columns(const TileArgs& args, const Tile& tile, int segment, unsigned char* shared,
                                  int thread) {
    auto* const sums = reinterpret_cast<std::int32_t*>(shared + args.sums_offset);
    const int points = args.tile_width * args.tile_height;
    for (int component = 0; component < args.num_components; ++component) {
        if (args.component_used[component] == 0) continue;
        const int axis = args.component_axis[component];
        const ColumnTable& table = args.columns[axis];
        const int begin = segment_begin(args, axis, tile, segment);
        for (int i = thread; i < points; i += kTileThreads) {
            const int y = i >> args.log2_tile_width;
            const int x = i - (y << args.log2_tile_width);
            if (x >= tile.width || y >= tile.height) continue;
            const std::int32_t so_far = segment == 0 ? 8192 : sums[component * points + i];
            const int pitch = args.v.pitch[axis];
            const unsigned char* const low = shared + args.v.offset[component] + y * pitch;
            sums[component * points + i] =
                add_columns(table, low, args.v.num_rows * pitch, tile.x + x, begin, args.segment_columns, so_far);
        }
    }
}

/// Step 3.
TRICODEC_KERNEL void tile_colors(const TileArgs& args, const Tile& tile, const FrameArgs& frame, unsigned char* shared,
                                 int thread) {
    const auto* const sums = reinterpret_cast<const std::int32_t*>(shared + args.sums_offset);
    const OutputArgs& output = args.output;
    const int points = args.tile_width * args.tile_height;
    const bool along_y = args.staging == Staging::along_y;
    const int runs = along_y ? args.tile_width : args.tile_height;
    const bool backwards = (along_y ? output.step_y : output.step_x) < 0;
    const int last = (along_y ? tile.height : tile.width) - 1;
    const int group_bytes = output.group_size * output.element_bytes;
    for (int i = thread; i < points; i += kTileThreads) {
        const int y = i >> args.log2_tile_width;
        const int x = i - (y << args.log2_tile_width);
        if (x >= tile.width || y >= tile.height) continue;
        std::int32_t p[3];
        for (int c = 0; c < 3; ++c) {
            const bool used = c < args.num_components && args.component_used[c] != 0;
            p[c] = used ? sums[c * points + i] >> 14 : 8192;
        }
        std::uint32_t elements[3];
        make_elements(args.color, output.element, p, elements);
        if (args.staging == Staging::none) {
            unsigned char* const to = frame.out + (tile.x + x) * output.step_x + (tile.y + y) * output.step_y;
            for (int e = 0; e < output.num_groups * output.group_size; ++e) {
                store_element(to + output.element_offset[e], output.element_bytes,
                              element_bits(elements, args.color.num_channels, e));
            }
            continue;
        }
        const int place = along_y ? y : x;
        unsigned char* to =
            shared + (along_y ? x : y) * args.stage_pitch + (backwards ? last - place : place) * group_bytes;
        for (int group = 0; group < output.num_groups; ++group, to += runs * args.stage_pitch) {
            for (int e = 0; e < output.group_size; ++e) {
                store_element(to + e * output.element_bytes, output.element_bytes,
                              element_bits(elements, args.color.num_channels, group * output.group_size + e));
            }
        }
    }
}

/// Step 4: a warp for each run.
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
                 shared + i * args.stage_pitch, bytes, thread % 32);
    }
}

}  // namespace tricodec::image::gpu
