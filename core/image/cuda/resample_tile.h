// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// The kernel that can run every plan. A block makes a tile of the grid from all components. The columns that the tile
// reads are one segment, or several where thousands of columns go into an output. For each segment:
//   1. rows: V of the tile's rows (docs/reference/transform.md 4.2), in shared memory as low and high bytes;
//   2. columns: the sums of 4.3 grow. After the last segment they become P and the colors of section 5, which are
//      stored to global memory, or staged in shared memory in the output's order;
//   3. store: staged elements go out in words of 16 bytes.
// Between the steps the block waits for all of its threads. Each step is a function of a thread's number, so that a CPU
// can run them too.

inline constexpr int kTileThreads = 256;
inline constexpr int kThreadRows = 4;  ///< rows of the grid that a thread makes: they share coefficients

// Step 1: rows.

/// The part of a plane that becomes V.
struct PlaneRows {
    const unsigned char* data;
    std::int32_t stride;
    std::int32_t begin;  ///< columns, multiples of 16
    std::int32_t end;
    std::int32_t first_output;  ///< grid row of V's first row
    std::int32_t num_rows;
};

/// Bytes [offset, offset + 4) of a row, zero where they are not valid. Any alignment.
TRICODEC_KERNEL std::uint32_t load_guarded(const unsigned char* row, int offset, int begin, int end) {
    std::uint32_t word = 0;
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) {
        if (offset + i >= begin && offset + i < end) word |= std::uint32_t{row[offset + i]} << (8 * i);
    }
    return word;
}

/// Sixteen bytes of a row at any alignment, those outside the crop zero.
TRICODEC_KERNEL Words4 load_sixteen(const unsigned char* row, int offset, const TilePlane& plane) {
    Words4 words;
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) {
        words.w[i] = load_guarded(row, offset + 4 * i, plane.valid_begin, plane.valid_end);
    }
    return words;
}

/// The rows that one row of V is made from.
struct RowTaps {
    const unsigned char* row;
    const std::int16_t* coefs;
    std::int32_t count;
};

TRICODEC_KERNEL RowTaps row_taps(const RowTable& table, const PlaneRows& rows, int row) {
    const int output = rows.first_output + row;
    return {rows.data + static_cast<std::int64_t>(table.first[output]) * rows.stride,
            table.coefs + output * table.pitch, table.count[output]};
}

/// The samples of sixteen bytes, summed up over the taps, two rows at a time: sixteen of 8 bits or eight of 16 bits.
template <int kSampleBytes>
struct TapSums {
    static constexpr int kSamples = 16 / kSampleBytes;

    // Of 8 bits: the sums. Of 16 bits: those of the low bytes, then those of the high bytes. In either case below 2^31
    // (docs/reference/transform.md 4.4, with d = 16 where low bits are unused).
    std::int32_t sums[16];

    TRICODEC_KERNEL void add(const TilePlane& plane, std::uint32_t coefs, const Words4& a, const Words4& b) {
        TRICODEC_UNROLL
        for (int i = 0; i < 4; ++i) {
            std::uint32_t first = permute(a.w[i], b.w[i], kSampleBytes == 1 ? 0x5140 : 0x6240);
            const std::uint32_t second = permute(a.w[i], b.w[i], kSampleBytes == 1 ? 0x7362 : 0x7351);
            if constexpr (kSampleBytes == 2) first &= plane.mask;
            std::int32_t* const low = sums + (kSampleBytes == 1 ? 4 * i : 2 * i);
            std::int32_t* const high = sums + (kSampleBytes == 1 ? 4 * i + 2 : 8 + 2 * i);
            low[0] = dot_low(coefs, first, low[0]);
            low[1] = dot_high(coefs, first, low[1]);
            high[0] = dot_low(coefs, second, high[0]);
            high[1] = dot_high(coefs, second, high[1]);
        }
    }

    TRICODEC_KERNEL void run(const TilePlane& plane, const RowTaps& taps, std::int32_t stride, int offset,
                             bool aligned) {
        TRICODEC_UNROLL
        for (int i = 0; i < 16; ++i) sums[i] = i < kSamples ? 1 << (plane.bits - 1) : 0;
        if (aligned) {
            run_aligned(plane, taps, stride, offset);
            return;
        }
        const unsigned char* row = taps.row;
        for (int k = 0; k < taps.count; k += 2) {
            const auto coefs = load<std::uint32_t>(taps.coefs + k);
            const Words4 a = load_sixteen(row, offset, plane);
            const Words4 b = load_sixteen(row + (k + 1 < taps.count ? stride : 0), offset, plane);
            row += 2 * static_cast<std::int64_t>(stride);
            add(plane, coefs, a, b);
        }
    }

    /// Four taps at a time, so that the loads of four rows overlap. Taps past the last have a zero coefficient and read
    /// the last row.
    TRICODEC_KERNEL void run_aligned(const TilePlane& plane, const RowTaps& taps, std::int32_t stride, int offset) {
        const unsigned char* row = taps.row + offset;
        for (int left = taps.count; left > 0; left -= 4) {
            const auto coefs = load<Words2>(taps.coefs + (taps.count - left));
            const int second = left > 1 ? stride : 0;
            const int third = left > 2 ? second + stride : second;
            const int fourth = left > 3 ? third + stride : third;
            const auto a = load<Words4>(row);
            const auto b = load<Words4>(row + second);
            const auto c = load<Words4>(row + third);
            const auto d = load<Words4>(row + fourth);
            row += 4 * static_cast<std::int64_t>(stride);
            add(plane, coefs.w[0], a, b);
            add(plane, coefs.w[1], c, d);
        }
    }

    TRICODEC_KERNEL std::int32_t v(const TilePlane& plane, int i) const {
        if constexpr (kSampleBytes == 1) return sums[i] >> 8;
        return (sums[i] + sums[8 + i] * 256) >> plane.bits;
    }

    /// Writes V of one component: kParts components lie side by side, this is number `part`.
    template <int kParts>
    TRICODEC_KERNEL void store_part(const TilePlane& plane, int part, unsigned char* low, int to_high) const {
        constexpr int kWords = kSamples / kParts / 4;
        std::uint32_t lows[kWords];
        std::uint32_t highs[kWords];
        TRICODEC_UNROLL
        for (int i = 0; i < kWords; ++i) {
            std::int32_t four[4];
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) four[k] = v(plane, (4 * i + k) * kParts + part);
            split_bytes<0>(four, lows[i], highs[i]);
        }
        if constexpr (kWords == 4) {
            store(low, Words4{{lows[0], lows[1], lows[2], lows[3]}});
            store(low + to_high, Words4{{highs[0], highs[1], highs[2], highs[3]}});
        } else if constexpr (kWords == 2) {
            store(low, Words2{{lows[0], lows[1]}});
            store(low + to_high, Words2{{highs[0], highs[1]}});
        } else {
            store(low, lows[0]);
            store(low + to_high, highs[0]);
        }
    }
};

/// One sample of three components side by side, which no hardware decoder makes.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v_of_triple(const TilePlane& plane, const RowTable& table, const VRows& v,
                                      const PlaneRows& rows, unsigned char* shared, int row, int sample) {
    const int component = plane.component[sample % 3];
    const int offset = (rows.begin * 3 + sample) * kSampleBytes;
    if (component < 0 || offset < plane.valid_begin || offset >= plane.valid_end) return;
    const RowTaps taps = row_taps(table, rows, row);
    const unsigned char* at = taps.row + offset;
    std::int32_t sum = 1 << (plane.bits - 1);
    for (int k = 0; k < taps.count; ++k, at += rows.stride) {
        std::int32_t value = at[0];
        if (kSampleBytes == 2) value |= std::int32_t{at[1]} << 8;
        sum += value * taps.coefs[k];
    }
    sum >>= plane.bits;
    unsigned char* const low = shared + v.offset[component] + row * v.pitch[plane.axis] + sample / 3;
    low[0] = static_cast<unsigned char>(sum);
    low[v.to_high[plane.axis]] = static_cast<unsigned char>(sum >> 8);
}

/// Pieces of work for the V of a plane.
template <int kSampleBytes>
TRICODEC_KERNEL int v_groups(const TilePlane& plane, const PlaneRows& rows) {
    const int samples = (rows.end - rows.begin) * plane.parts;
    if (samples <= 0) return 0;
    return plane.parts == 3 ? samples : samples * kSampleBytes / 16;
}

/// V of one piece of one row: sixteen bytes of a plane.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v(const TilePlane& plane, const RowTable& table, const VRows& v, const PlaneRows& rows,
                            unsigned char* shared, int row, int group) {
    if (plane.parts == 3) return make_v_of_triple<kSampleBytes>(plane, table, v, rows, shared, row, group);
    const int offset = rows.begin * plane.parts * kSampleBytes + 16 * group;
    // All coefficients of such columns are zero, so that their V does not matter.
    if (offset >= plane.valid_end || offset + 16 <= plane.valid_begin) return;
    const bool aligned = offset >= plane.valid_begin && offset + 16 <= plane.valid_end &&
                         is_aligned(rows.data + offset, 16) && (rows.stride & 15) == 0;
    TapSums<kSampleBytes> sums;
    sums.run(plane, row_taps(table, rows, row), rows.stride, offset, aligned);
    constexpr int kSamples = TapSums<kSampleBytes>::kSamples;
    const int to_high = v.to_high[plane.axis];
    unsigned char* const base = shared + row * v.pitch[plane.axis];
    if (plane.parts == 1) {
        sums.template store_part<1>(plane, 0, base + v.offset[plane.component[0]] + kSamples * group, to_high);
        return;
    }
    TRICODEC_UNROLL
    for (int part = 0; part < 2; ++part) {
        if (plane.component[part] < 0) continue;
        unsigned char* const low = base + v.offset[plane.component[part]] + kSamples / 2 * group;
        sums.template store_part<2>(plane, part, low, to_high);
    }
}

// Step 2: columns.

/// The sums of docs/reference/transform.md 4.3 that grow while columns come in.
struct ColumnSums {
    std::int32_t low[kThreadRows];
    std::int32_t high[kThreadRows];  ///< of the high bytes

    TRICODEC_KERNEL std::int32_t p(int row) const { return (low[row] + high[row] * 256 + 8192) >> 14; }
};

/// Adds columns [begin, begin + num_columns) to an output's sums of `kComponents` components. Their low bytes are at
/// `low[i]`. Rows beyond the tile are summed up too, from bytes that do not matter.
template <int kComponents>
TRICODEC_KERNEL void add_columns(const ColumnTable& table, const unsigned char* const (&low)[kComponents], int pitch,
                                 int to_high, int output, int begin, int num_columns, ColumnSums (&sums)[kComponents]) {
    if (table.identity != 0) {
        const int column = table.begin + output - begin;
        if (column < 0 || column >= num_columns) return;
        TRICODEC_UNROLL
        for (int i = 0; i < kComponents; ++i) {
            TRICODEC_UNROLL
            for (int row = 0; row < kThreadRows; ++row) {
                const unsigned char* const at = low[i] + row * pitch + column;
                sums[i].low[row] += at[0] * 16384;
                sums[i].high[row] += static_cast<signed char>(at[to_high]) * 16384;
            }
        }
        return;
    }
    const int first = table.first[output] - begin;
    const std::int16_t* const coefs = table.coefs + output * table.pitch;
    const int end = num_columns - first < table.pitch ? num_columns - first : table.pitch;
    for (int k = first < 0 ? -first : 0; k < end; k += 4) {
        const auto four = load<Words2>(coefs + k);
        TRICODEC_UNROLL
        for (int i = 0; i < kComponents; ++i) {
            const unsigned char* const at = low[i] + first + k;
            TRICODEC_UNROLL
            for (int row = 0; row < kThreadRows; ++row) {
                const auto lows = load<std::uint32_t>(at + row * pitch);
                const auto highs = load<std::uint32_t>(at + row * pitch + to_high);
                sums[i].low[row] = dot_high(four.w[1], lows, dot_low(four.w[0], lows, sums[i].low[row]));
                sums[i].high[row] = dot_signed(four, highs, sums[i].high[row]);
            }
        }
    }
}

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

/// Step 1. The pieces of all planes are numbered together, so that no thread waits for another plane.
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

/// The sums so far of kThreadRows grid points, one below the other.
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

/// Stores or stages the channels of one grid point.
template <Element kElement>
TRICODEC_KERNEL void put_point(const TileArgs& args, const Tile& tile, const FrameArgs& frame, unsigned char* shared,
                               int x, int y, const std::int32_t (&p)[3]) {
    const OutputArgs& output = args.output;
    constexpr int kBytes = bytes_of(kElement);
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
    // A group holds complete elements, and the runs begin at multiples of the largest element's size.
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
