// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "image/cuda/band_args.h"
#include "image/cuda/band_rows.h"
#include "image/cuda/band_store.h"
#include "image/cuda/band_warp.h"

namespace tricodec::image::gpu {

// The kernel for resizes on GPUs that multiply matrices of bytes. Both passes of docs/transform.md 4 are products with
// banded matrices: V = rows' coefficients x samples, P = V x columns' coefficients. A block makes 32 rows of 32 points
// of the grid from all components, a warp eight of these rows, for one frame or several, one after the other:
//   1. copies: "stages" of 64 bytes of all source rows that the block needs are on their way to shared memory, two of
//      them at any time; and so are, first, the columns' coefficients, which all warps share;
//   2. rows: transposed loads have two rows of two columns in a word, and two words become four rows of one column
//   each.
//      A product's 16 rows are the 8 rows' coefficients in two bytes each.
//   3. columns: the lanes hold V just as a product's first matrix wants it, if its columns are taken in the order in
//      which they happen to lie; the table of coefficients has that order. V's two bytes are again two times 8 rows.
//   4. colors, and stores from registers (band_store.h).
//
// Note [Exact in bytes]: a coefficient is 256 * high + low with both in a signed byte: |q| <= 19456. V is unsigned if
// kVBias is added to it, which adds kVBias to P, as coefficients sum up to 2^14: 0 < V + kVBias <= 23552 < 2^15. All
// products are exact in 32 bits (4.4), and so are their sums, modulo 2^32 on the way.

/// Step 3: what 64 bytes' columns give to a tile of the components from `first` on. Their coefficients are at `entry`.
template <int kSampleBytes, int kWhich, int kParts, class Warp>
TRICODEC_KERNEL void band_columns(Warp& warp, int entry, int first, int tile) {
    using Columns = BandColumns<kSampleBytes, kParts>;
    TRICODEC_UNROLL
    for (int part = 0; part < kParts; ++part) {
        TRICODEC_UNROLL
        for (int group = 0; group < Columns::kGroups; ++group) {
            warp.each([&](BandLane& lane, int number) {
                const auto words = load<Words4>(warp.shared + entry + group * kBandEntry + number * 16);
                TRICODEC_UNROLL
                for (int i = 0; i < 4; ++i) lane.columns[0][i] = words.w[i];
            });
            TRICODEC_UNROLL
            for (int byte = 0; byte < 2; ++byte) {
                warp.template multiply<Signed::b, 16 * Columns::kQuads>([&](BandLane& lane) {
                    return Product{lane.parts[byte],
                                   group == 0 ? lane.zeros : lane.parts[byte],
                                   lane.plane[kWhich].v[part][group],
                                   {lane.columns[0][2 * byte], lane.columns[0][2 * byte + 1]}};
                });
            }
        }
        warp.each([&](BandLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) {
                const std::int32_t middle = lane.parts[0][i] + lane.parts[1][2 + i];
                lane.p[first + part][tile][i] += lane.parts[0][2 + i] * 65536 + middle * 256 + lane.parts[1][i];
            }
        });
    }
}

/// Loads the rows' coefficients of a warp's tile: before it needs them, as that takes long.
template <int kWhich, class Warp>
TRICODEC_KERNEL void load_band(Warp& warp, const BandArgs& args, const BandPlane& plane, int tile) {
    const bool any = tile * kBandRows < args.grid_height;
    const Words4* const row_weights = plane.row_weights + tile * plane.row_pitch * 32;
    warp.each([&](BandLane& lane, int number) {
        TRICODEC_UNROLL
        for (int i = 0; i < 2; ++i) {
            if (!any || i >= plane.row_pitch) break;
            const auto words = load<Words4>(row_weights + 32 * i + number);
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.plane[kWhich].weights[i][k] = words.w[k];
        }
    });
}

/// Step 3 for a stage, with the bits of the tiles that have coefficients there.
template <int kSampleBytes, int kWhich, int kParts, class Warp>
TRICODEC_KERNEL void band_tiles(Warp& warp, int tiles, int first) {
    int entry = warp.first().plane[kWhich].entry;
    TRICODEC_UNROLL
    for (int tile = 0; tile < kBandTiles; ++tile) {
        if ((tiles >> tile & 1) == 0) continue;
        band_columns<kSampleBytes, kWhich, kParts>(warp, entry, first, tile);
        entry += BandColumns<kSampleBytes, kParts>::kGroups * kBandEntry;
    }
    warp.each([&](BandLane& lane, int) { lane.plane[kWhich].entry = entry; });
}

/// The rows that a warp's tile needs of a plane.
template <class Warp>
TRICODEC_KERNEL BandRange rows_of_tile(const Warp& warp, const BandArgs& args, int plane, int number) {
    return load<BandRange>(warp.shared + args.work_place + plane * static_cast<int>(sizeof(BandWork)) +
                           static_cast<int>(offsetof(BandWork, tile_rows)) +
                           number * static_cast<int>(sizeof(BandRange)));
}

/// A warp needs `rows` of a plane, the same of all frames; the block has the plane's rows from `block_row` on.
template <int kSampleBytes, int kWhich, class Warp>
TRICODEC_KERNEL void place_band(Warp& warp, const BandPlane& plane, BandRange rows, int block_row) {
    warp.each([&](BandLane& lane, int number) {
        BandPlaneLane& own = lane.plane[kWhich];
        own.rows = rows.count;
        const int row_32 = rows.first - block_row + number;
        const int row_16 = rows.first - block_row + number % 16;
        own.turned_32 = row_32 * kBandBytes + (row_32 / 2 & 3) * 16;
        own.turned_16 = row_16 * kBandBytes + (number / 16 ^ (row_16 / 2 & 3)) * 16;
        // What rounds, and kVBias: of 16 bits both are added to the low bytes' sums.
        own.start[0] = own.start[1] = kSampleBytes == 1 ? kVBias : 0;
        own.start[2] = own.start[3] = kSampleBytes == 1 ? 128 : (1 << (plane.bits - 1)) + (kVBias << plane.bits);
    });
}

/// A warp begins with a plane of a frame, whose components are those from `first` on; where the columns' words are in
/// shared memory, and how many of them come before the coefficients.
template <int kWhich, int kParts, class Warp>
TRICODEC_KERNEL void begin_band(Warp& warp, int place, int header, int first) {
    warp.each([&](BandLane& lane, int) {
        lane.plane[kWhich].entry = place + header * static_cast<int>(sizeof(Words4));
        TRICODEC_UNROLL
        for (int part = 0; part < kParts; ++part) {
            TRICODEC_UNROLL
            for (int k = 0; k < kBandTiles; ++k) {
                // What rounds, without what kVBias adds.
                lane.p[first + part][k][0] = lane.p[first + part][k][1] = 8192 - (kVBias << 14);
            }
        }
    });
}

/// A plane's components, from `first` on, after begin_band(): their P, still in units of 2^-14. `stage` is the plane's
/// first.
template <int kSampleBytes, int kParts, class Block>
TRICODEC_KERNEL void band_plane(Block& block, const BandArgs& args, int number, const BandWork& work, int block_y,
                                int first, int& stage, BandCopies& next) {
    const BandPlane& plane = args.planes[number];
    int header = args.columns[plane.axis].place;
    for (int byte = 0; byte < work.bytes.count; byte += kBandBytes, header += static_cast<int>(sizeof(int))) {
        // One group is ended for each stage, so that all but the latest ones have come.
        block.each_warp([](auto& warp, int) { warp.each([](BandLane&, int) { wait_for_copies<kBandStages - 2>(); }); });
        block.together();
        // To the stage that all warps have read before.
        copy_stage(block, args, next);
        const int from = stage * args.stage_bytes;
        stage = stage + 1 < kBandStages ? stage + 1 : 0;
        block.each_warp([&](auto& warp, int i) {
            const int rows = warp.uniform(warp.first().plane[0].rows);
            if (rows == 0) return;
            const int tiles = warp.uniform(load<std::int32_t>(warp.shared + header));
            const int tile_y = block_y * kBandWarps + i;
            const Words4* const row_weights = plane.row_weights + tile_y * plane.row_pitch * 32;
            band_rows<kSampleBytes, 0, kParts>(warp, plane, row_weights, rows, from);
            if (byte + kBandBytes >= work.bytes.count) {
                load_band<0>(warp, args, args.planes[number + 1 < args.num_planes ? number + 1 : 0], tile_y);
            }
            band_tiles<kSampleBytes, 0, kParts>(warp, tiles, first);
        });
    }
}

/// Copies of the columns' coefficients, and what the block takes of all planes, in shared memory; returns what it takes
/// of the first. All that is loaded is on its way together.
template <int kSampleBytes, class Block>
TRICODEC_KERNEL BandWork begin_block(Block& block, const BandArgs& args, int unit, int block_y) {
    const auto work_of = [&](const BandPlane& plane) {
        BandWork work{
            load<BandRange>(plane.block_rows + block_y), load<BandRange>(args.columns[plane.axis].bytes + unit), {}};
        TRICODEC_UNROLL
        for (int i = 0; i < kBandWarps; ++i) {
            const int tile = block_y * kBandWarps + i;
            if (tile * kBandRows < args.grid_height) work.tile_rows[i] = load<BandRange>(plane.rows + tile);
        }
        return work;
    };
    const BandWork first = work_of(args.planes[0]);
    const BandRange ranges[2] = {load<BandRange>(args.columns[0].ranges + unit),
                                 args.num_axes > 1 ? load<BandRange>(args.columns[1].ranges + unit) : BandRange{0, 0}};
    block.each_warp([&](auto& warp, int number) {
        const auto thread = [&](int lane) { return number * 32 + lane; };
        warp.each([&](BandLane& lane, int i) {
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.zeros[k] = 0;
            if (thread(i) < args.num_planes) {
                store(warp.shared + args.work_place + thread(i) * static_cast<int>(sizeof(BandWork)),
                      work_of(args.planes[thread(i)]));
            }
        });
        load_band<0>(warp, args, args.planes[0], block_y * kBandWarps + number);
        warp.each([&](BandLane&, int i) {
            TRICODEC_UNROLL
            for (int axis = 0; axis < 2; ++axis) {
                const BandColumnsTable& table = args.columns[axis];
                TRICODEC_NO_UNROLL
                for (int word = thread(i); word < ranges[axis].count; word += kBandThreads) {
                    warp.start_copy(table.place + word * static_cast<int>(sizeof(Words4)),
                                    reinterpret_cast<const unsigned char*>(table.words + ranges[axis].first + word));
                }
            }
        });
    });
    block.together();
    return first;
}

/// A part of the grid of 32 columns from 32 * unit on and 32 rows from 32 * block_y on, of every args.shares-th frame
/// from `share` on. While one frame is stored, the next one's first stages are on their way.
template <int kSampleBytes, Element kElement, bool kPairs, class Block>
TRICODEC_KERNEL void band_block(Block& block, const BandArgs& args, int unit, int block_y, int share) {
    const BandWork first = begin_block<kSampleBytes>(block, args, unit, block_y);
    BandCopies next{};
    next.frame = share;
    begin_copies(block, args, first, next);
    // The columns' coefficients are part of the first group.
    for (int i = 0; i + 1 < kBandStages; ++i) copy_stage(block, args, next);
    int stage = 0;
    const auto add_plane = [&](auto parts, int number) {
        constexpr int kParts = decltype(parts)::value;
        BandWork work{};
        block.each_warp([&](auto& warp, int i) {
            const BandPlane& plane = args.planes[number];
            work = load<BandWork>(warp.shared + args.work_place + number * static_cast<int>(sizeof(BandWork)));
            place_band<kSampleBytes, 0>(warp, plane, rows_of_tile(warp, args, number, i), work.rows.first);
            const BandColumnsTable& table = args.columns[plane.axis];
            begin_band<0, kParts>(warp, table.place, table.header, number);
        });
        band_plane<kSampleBytes, kParts>(block, args, number, work, block_y, number, stage, next);
    };
    TRICODEC_NO_UNROLL
    for (int frame = share; frame < args.num_frames; frame += args.shares) {
        add_plane(std::integral_constant<int, 1>(), 0);
        if (args.num_planes > 1) {
            if constexpr (kPairs) {
                add_plane(std::integral_constant<int, 2>(), 1);
            } else {
                add_plane(std::integral_constant<int, 1>(), 1);
                add_plane(std::integral_constant<int, 1>(), 2);
            }
        }
        block.each_warp([&](auto& warp, int number) {
            if (args.num_planes == 1) leave_chroma(warp);
            store_band<kElement>(warp, args, args.frames[frame], unit, block_y * kBandWarps + number);
        });
    }
}

}  // namespace tricodec::image::gpu
