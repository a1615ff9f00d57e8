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
// wait for a stage's bytes, not for each other: the last one that has read them starts the copies that take their
// place. The copies' own pattern for 64 bytes (their second highest quarter of eight changes place) is load_turned()'s.
// How many rows a tile needs is the kernel's, not the plane's: each branch would wait for all products before it.

/// Starts the copies of 64 bytes of both planes; one lane's.
template <class Warp, class Map>
TRICODEC_KERNEL void start_stage(Warp& warp, const BoxArgs<Map>& boxes, int stage, int step, int frame) {
    const BandArgs& args = boxes.band;
    const int barrier = boxes.barriers_place + stage * static_cast<int>(sizeof(BoxStage));
    warp.expect_bytes(barrier, (boxes.rows[0] + boxes.rows[1]) * kBandBytes);
    int to = stage * args.stage_bytes;
    TRICODEC_UNROLL
    for (int i = 0; i < 2; ++i) {
        const auto work = load<BandWork>(warp.shared + args.work_place + i * static_cast<int>(sizeof(BandWork)));
        warp.start_box(to, barrier, boxes.maps[i], work.bytes.first + step * kBandBytes, work.rows.first, frame);
        to += boxes.rows[i] * kBandBytes;
    }
}

/// A warp has read a stage. If it is the last one, what comes next there is on its way: kBoxStages steps further.
template <class Warp, class Map>
TRICODEC_KERNEL void leave_stage(Warp& warp, const BoxArgs<Map>& boxes, int stage, int num_steps) {
    const int place = boxes.barriers_place + stage * static_cast<int>(sizeof(BoxStage));
    warp.once([&] {
        if (!warp.arrive_last(place + static_cast<int>(offsetof(BoxStage, free)))) return;
        unsigned char* const at = warp.shared + place + static_cast<int>(offsetof(BoxStage, step));
        auto next = load<Words2>(at);
        next.w[0] += kBoxStages;
        for (; next.w[0] >= static_cast<unsigned>(num_steps); next.w[0] -= static_cast<unsigned>(num_steps)) {
            next.w[1] += static_cast<unsigned>(boxes.band.shares);
        }
        if (next.w[1] >= static_cast<unsigned>(boxes.band.num_frames)) return;
        store(at, next);
        start_stage(warp, boxes, stage, static_cast<int>(next.w[0]), static_cast<int>(next.w[1]));
    });
}

/// Step 2 of band_kernel.h for a plane of a stage, of which a tile needs kRows rows at most.
template <int kSampleBytes, int kWhich, int kParts, int kRows, class Warp>
TRICODEC_KERNEL void box_rows(Warp& warp, const BandPlane& plane, int from) {
    add_rows<kSampleBytes, kWhich, true, 32>(warp, plane, from, 0);
    if constexpr (kRows > 32) add_rows<kSampleBytes, kWhich, false, kRows - 32>(warp, plane, from + 32 * kBandBytes, 1);
    make_v<kSampleBytes, kWhich, kParts>(warp, plane);
}

/// All that does not change from frame to frame, and the first stages' copies; returns how many stages a frame has.
template <int kSampleBytes, class Block, class Map>
TRICODEC_KERNEL int begin_boxes(Block& block, const BoxArgs<Map>& boxes, int unit, int block_y, int share) {
    const BandArgs& args = boxes.band;
    const auto barrier = [&](int stage) { return boxes.barriers_place + stage * static_cast<int>(sizeof(BoxStage)); };
    block.each_warp([&](auto& warp, int number) {
        if (number != 0) return;
        warp.once([&] {
            for (int i = 0; i < kBoxStages; ++i) {
                warp.init_barrier(barrier(i), 1);
                warp.init_barrier(barrier(i) + static_cast<int>(offsetof(BoxStage, free)), kBandWarps);
            }
            warp.publish_barriers();
        });
    });
    const BandWork luma = begin_block<kSampleBytes>(block, args, unit, block_y);
    BandWork chroma{};
    block.each_warp([&](auto& warp, int number) {
        chroma = load<BandWork>(warp.shared + args.work_place + static_cast<int>(sizeof(BandWork)));
        load_band<1>(warp, args, args.planes[1], block_y * kBandWarps + number);
        place_band<kSampleBytes, 0>(warp, args.planes[0], rows_of_tile(warp, args, 0, number), luma.rows.first);
        place_band<kSampleBytes, 1>(warp, args.planes[1], rows_of_tile(warp, args, 1, number), chroma.rows.first);
    });
    const int bytes = luma.bytes.count > chroma.bytes.count ? luma.bytes.count : chroma.bytes.count;
    const int num_steps = (bytes + kBandBytes - 1) / kBandBytes;
    block.each_warp([&](auto& warp, int number) {
        if (number == 0) {
            warp.once([&] {
                int step = 0;
                int frame = share;
                TRICODEC_NO_UNROLL
                for (int i = 0; i < kBoxStages; ++i) {
                    store(warp.shared + barrier(i) + static_cast<int>(offsetof(BoxStage, step)),
                          Words2{{static_cast<unsigned>(step), static_cast<unsigned>(frame)}});
                    if (frame < args.num_frames) start_stage(warp, boxes, i, step, frame);
                    if (++step == num_steps) {
                        step = 0;
                        frame += args.shares;
                    }
                }
            });
        }
        // The columns' coefficients.
        warp.each([](BandLane&, int) {
            end_copy_group();
            wait_for_copies<0>();
        });
    });
    block.together();
    return num_steps;
}

/// band_block() of luma, of which a tile needs kRows rows at most, and of pairs of chroma.
template <int kSampleBytes, Element kElement, int kRows, class Block, class Map>
TRICODEC_KERNEL void box_block(Block& block, const BoxArgs<Map>& boxes, int unit, int block_y, int share) {
    const BandArgs& args = boxes.band;
    const BandPlane& luma = args.planes[0];
    const BandPlane& chroma = args.planes[1];
    const int num_steps = begin_boxes<kSampleBytes>(block, boxes, unit, block_y, share);
    int stage = 0;
    unsigned parity = 0;
    TRICODEC_NO_UNROLL
    for (int frame = share; frame < args.num_frames; frame += args.shares) {
        block.each_warp([&](auto& warp, int) {
            begin_band<0, 1>(warp, args.columns[luma.axis], 0);
            begin_band<1, 2>(warp, args.columns[chroma.axis], 1);
        });
        TRICODEC_NO_UNROLL
        for (int step = 0; step < num_steps; ++step) {
            block.each_warp([&](auto& warp, int) {
                const int from = stage * args.stage_bytes;
                const bool any = warp.first().plane[0].rows != 0;
                const auto tiles_of = [&](const BandColumnsTable& table) {
                    return step < 4 * table.header ? load<std::int32_t>(warp.shared + table.place + 4 * step) : 0;
                };
                const int tiles[2] = {tiles_of(args.columns[luma.axis]), tiles_of(args.columns[chroma.axis])};
                warp.wait_for_phase(boxes.barriers_place + stage * static_cast<int>(sizeof(BoxStage)), parity);
                if (any) {
                    box_rows<kSampleBytes, 0, 1, kRows>(warp, luma, from);
                    box_rows<kSampleBytes, 1, 2, kBoxChromaRows>(warp, chroma, from + boxes.rows[0] * kBandBytes);
                }
                leave_stage(warp, boxes, stage, num_steps);
                if (!any) return;
                band_tiles<kSampleBytes, 0, 1>(warp, tiles[0], 0);
                band_tiles<kSampleBytes, 1, 2>(warp, tiles[1], 1);
            });
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
