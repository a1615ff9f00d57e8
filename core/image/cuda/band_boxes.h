// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "image/cuda/band_kernel.h"
#include "image/cuda/box_args.h"

namespace tricodec::image::gpu {

// band_kernel.h for luma and pairs of chroma on GPUs that copy whole boxes (compute capability 9.0 and later). A stage
// has 64 bytes of all rows that the block needs of both planes: one lane starts their two copies, no lane computes
// addresses, and a warp has arithmetic of one plane to go on with while the other's results are not there yet. Warps
// wait for a stage's bytes, not for each other; in turn one of them, before its next step, waits until all have read
// the stage before, and starts what comes next there. The copies' own pattern for 64 bytes (their second highest
// quarter of eight changes place) is load_turned()'s. How many rows a tile needs is the kernel's, not the plane's: each
// branch would wait for all products before it.

/// Where a block's boxes begin, how many steps of 64 bytes a frame has, and the copies that are started next.
struct BoxCopies {
    int x[2];  ///< by plane
    int y[2];
    int num_steps;
    int step;
    int frame;
};

TRICODEC_KERNEL void go_on(BoxCopies& next, int shares) {
    if (++next.step < next.num_steps) return;
    next.step = 0;
    next.frame += shares;
}

/// Shared memory's place of a BoxStage, whose first barrier is `full`, or of its `free`.
template <class Map>
TRICODEC_KERNEL int full_of(const BoxArgs<Map>& boxes, int stage) {
    return boxes.barriers_place + stage * static_cast<int>(sizeof(BoxStage));
}
template <class Map>
TRICODEC_KERNEL int free_of(const BoxArgs<Map>& boxes, int stage) {
    return full_of(boxes, stage) + static_cast<int>(offsetof(BoxStage, free));
}

/// Starts the copies of 64 bytes of both planes, with which as many more bytes are waited for; one lane's.
template <class Warp, class Map>
TRICODEC_KERNEL void start_stage(Warp& warp, const BoxArgs<Map>& boxes, const BoxCopies& next, int stage,
                                 int more_bytes) {
    const int barrier = full_of(boxes, stage);
    warp.expect_bytes(barrier, (boxes.rows[0] + boxes.rows[1]) * kBandBytes + more_bytes);
    const int to = stage * boxes.band.stage_bytes;
    const int byte = next.step * kBandBytes;
    const FrameArgs& frame = boxes.band.frames[next.frame];
    warp.start_box(to, barrier, boxes.maps[0], next.x[0] + byte, next.y[0], multiple_of(frame, 0));
    warp.start_box(to + boxes.rows[0] * kBandBytes, barrier, boxes.maps[1], next.x[1] + byte, next.y[1],
                   multiple_of(frame, 1));
}

/// Step 2 of band_kernel.h for a plane of a stage, of which a tile needs kRows rows at most.
template <int kSampleBytes, int kWhich, int kParts, int kRows, class Warp>
TRICODEC_KERNEL void box_rows(Warp& warp, const BandPlane& plane, int from) {
    add_rows<kSampleBytes, kWhich, true, 32>(warp, plane, from, 0);
    if constexpr (kRows > 32) add_rows<kSampleBytes, kWhich, false, kRows - 32>(warp, plane, from + 32 * kBandBytes, 1);
    make_v<kSampleBytes, kWhich, kParts>(warp, plane);
}

/// Step 3: box_columns() in fewer instructions, but more registers. The second product begins with P, beside which is
/// what the first one gives to multiples of 256: two multiplications for each P put all together.
template <int kSampleBytes, int kWhich, int kParts, class Warp>
TRICODEC_KERNEL void box_columns(Warp& warp, int entry, int first, int tile) {
    using Columns = BandColumns<kSampleBytes, kParts>;
    warp.each([&](BandLane& lane, int number) {
        TRICODEC_UNROLL
        for (int group = 0; group < Columns::kGroups; ++group) {
            const auto words = load<Words4>(warp.shared + entry + group * kBandEntry + number * 16);
            TRICODEC_UNROLL
            for (int i = 0; i < 4; ++i) lane.columns[group][i] = words.w[i];
        }
    });
    TRICODEC_UNROLL
    for (int part = 0; part < kParts; ++part) {
        TRICODEC_UNROLL
        for (int group = 0; group < Columns::kGroups; ++group) {
            warp.template multiply<Signed::b, 16 * Columns::kQuads>([&](BandLane& lane) {
                return Product{lane.parts[0],
                               group == 0 ? lane.zeros : lane.parts[0],
                               lane.plane[kWhich].v[part][group],
                               {lane.columns[group][0], lane.columns[group][1]}};
            });
        }
        warp.each([&](BandLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i)
                lane.p[first + part][tile][2 + i] = lane.parts[0][2 + i] * 256 + lane.parts[0][i];
        });
        TRICODEC_UNROLL
        for (int group = 0; group < Columns::kGroups; ++group) {
            warp.template multiply<Signed::b, 16 * Columns::kQuads>([&](BandLane& lane) {
                std::int32_t* const p = lane.p[first + part][tile];
                return Product{
                    p, p, lane.plane[kWhich].v[part][group], {lane.columns[group][2], lane.columns[group][3]}};
            });
        }
        warp.each([&](BandLane& lane, int) {
            std::int32_t (&p)[4] = lane.p[first + part][tile];
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) p[i] += p[2 + i] * 256;
        });
    }
}

/// Step 3 for a stage: two tiles side by side of both planes together, whose products do not wait for each other.
/// `pairs` has a bit for each such pair.
template <int kSampleBytes, class Warp>
TRICODEC_KERNEL void box_tiles(Warp& warp, int pairs) {
    int entry = warp.first().plane[0].entry;
    TRICODEC_UNROLL
    for (int pair = 0; pair < kBoxPairs; ++pair) {
        if ((pairs >> pair & 1) == 0) continue;
        TRICODEC_UNROLL
        for (int tile = pair; tile < pair + 2; ++tile) {
            box_columns<kSampleBytes, 0, 1>(warp, entry, 0, tile);
            box_columns<kSampleBytes, 1, 2>(warp, entry + kBoxLumaEntries * kBandEntry, 1, tile);
            entry += kBoxEntries * kBandEntry;
        }
    }
    warp.each([&](BandLane& lane, int) { lane.plane[0].entry = entry; });
}

/// All that does not change from frame to frame, and the first stages' copies, the last of which it returns.
template <int kSampleBytes, class Block, class Map>
TRICODEC_KERNEL BoxCopies begin_boxes(Block& block, const BoxArgs<Map>& boxes, int unit, int block_y, int share) {
    const BandArgs& args = boxes.band;
    // What is loaded is on its way together, and before the boxes: it would wait behind those of all blocks.
    const BandRange rows[2] = {load<BandRange>(args.planes[0].block_rows + block_y),
                               load<BandRange>(args.planes[1].block_rows + block_y)};
    const BandRange bytes[2] = {load<BandRange>(args.columns[args.planes[0].axis].bytes + unit),
                                load<BandRange>(args.columns[args.planes[1].axis].bytes + unit)};
    const BandRange words = load<BandRange>(boxes.ranges + unit);
    block.each_warp([&](auto& warp, int number) {
        const int tile = block_y * kBandWarps + number;
        const auto rows_of = [&](const BandPlane& plane) {
            return tile * kBandRows < args.grid_height ? load<BandRange>(plane.rows + tile) : BandRange{0, 0};
        };
        const BandRange of_luma = rows_of(args.planes[0]);
        const BandRange of_chroma = rows_of(args.planes[1]);
        load_band<0>(warp, args, args.planes[0], tile);
        load_band<1>(warp, args, args.planes[1], tile);
        if (number == 0) {
            warp.once([&] {
                TRICODEC_UNROLL
                for (int i = 0; i < kBoxStages; ++i) {
                    warp.init_barrier(full_of(boxes, i), 1);
                    warp.init_barrier(free_of(boxes, i), kBandWarps);
                }
                warp.publish_barriers();
            });
        }
        warp.each([](BandLane& lane, int) {
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.zeros[k] = 0;
        });
        place_band<kSampleBytes, 0>(warp, args.planes[0], of_luma, rows[0].first);
        place_band<kSampleBytes, 1>(warp, args.planes[1], of_chroma, rows[1].first);
    });
    block.together();
    const int most = bytes[0].count > bytes[1].count ? bytes[0].count : bytes[1].count;
    BoxCopies next{{bytes[0].first, bytes[1].first},
                   {rows[0].first, rows[1].first},
                   (most + kBandBytes - 1) / kBandBytes,
                   0,
                   share};
    const BoxCopies first = next;
    for (int i = 1; i < kBoxStages; ++i) go_on(next, args.shares);
    block.each_warp([&](auto& warp, int number) {
        if (number != 0) return;
        warp.once([&] {
            // The columns' coefficients are part of the first stage.
            const int words_bytes = words.count * static_cast<int>(sizeof(Words4));
            warp.start_bytes(boxes.words_place, full_of(boxes, 0), boxes.words + words.first, words_bytes);
            BoxCopies stages = first;
            TRICODEC_NO_UNROLL
            for (int i = 0; i < kBoxStages && stages.frame < args.num_frames; ++i) {
                start_stage(warp, boxes, stages, i, i == 0 ? words_bytes : 0);
                go_on(stages, args.shares);
            }
        });
    });
    return next;
}

/// band_block() of luma, of which a tile needs kRows rows at most, and of pairs of chroma.
template <int kSampleBytes, Element kElement, int kRows, class Block, class Map>
TRICODEC_KERNEL void box_block(Block& block, const BoxArgs<Map>& boxes, int unit, int block_y, int share) {
    const BandArgs& args = boxes.band;
    const BandPlane& luma = args.planes[0];
    const BandPlane& chroma = args.planes[1];
    BoxCopies next = begin_boxes<kSampleBytes>(block, boxes, unit, block_y, share);
    int stage = 0;
    unsigned parity = 0;
    int read = 0;  // the stage before, and when it was over
    unsigned read_parity = 0;
    int turn = -1;  // the warp that starts copies there
    TRICODEC_NO_UNROLL
    for (int frame = share; frame < args.num_frames; frame += args.shares) {
        block.each_warp([&](auto& warp, int) {
            begin_band<0, 1>(warp, boxes.words_place, boxes.header, 0);
            begin_band<1, 2>(warp, boxes.words_place, boxes.header, 1);
        });
        TRICODEC_NO_UNROLL
        for (int step = 0; step < next.num_steps; ++step) {
            block.each_warp([&](auto& warp, int number) {
                const int from = stage * args.stage_bytes;
                const bool any = warp.first().plane[0].rows != 0;
                if (number == turn && next.frame < args.num_frames) {
                    warp.once([&] {
                        warp.wait_for_phase(free_of(boxes, read), read_parity);
                        start_stage(warp, boxes, next, read, 0);
                    });
                }
                warp.wait_for_phase(full_of(boxes, stage), parity);
                const int pairs = load<std::int32_t>(warp.shared + boxes.words_place + 4 * step);
                if (any) {
                    box_rows<kSampleBytes, 0, 1, kRows>(warp, luma, from);
                    box_rows<kSampleBytes, 1, 2, kBoxChromaRows>(warp, chroma, from + boxes.rows[0] * kBandBytes);
                }
                warp.once([&] { warp.arrive(free_of(boxes, stage)); });
                if (any) box_tiles<kSampleBytes>(warp, pairs);
            });
            go_on(next, args.shares);
            turn = turn + 1 < kBandWarps ? turn + 1 : 0;
            read = stage;
            read_parity = parity;
            if (++stage == kBoxStages) {
                stage = 0;
                parity ^= 1U;
            }
        }
        block.each_warp([&](auto& warp, int number) {
            store_band<kElement>(warp, args, args.frames[frame], unit, block_y * kBandWarps + number);
        });
    }
}

}  // namespace tricodec::image::gpu
