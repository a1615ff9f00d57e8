// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/warp.h"

namespace tricodec::image::gpu {

// Steps 1 and 2 of resample_mma.h: copies of source rows to shared memory, and V of them.

/// How V's columns are in registers: 64 bytes have kGroups times 32 columns of a component, or 16, of which a lane has
/// four side by side for the first 16, and four for the next.
template <int kSampleBytes, int kParts>
struct MmaColumns {
    static constexpr int kColumns = kMmaBytes / (kSampleBytes * kParts);
    static constexpr int kGroups = kColumns == 64 ? 2 : 1;
    static constexpr int kQuads = kColumns == 16 ? 1 : 2;  ///< in a group
};

/// What a lane has in registers.
struct MmaLane {
    int rows;                     ///< of the source plane that the warp's tile needs, 0 if there is no tile
    int entry;                    ///< where shared memory has the next coefficients of columns
    int turned_32;                ///< where a stage has the lane's row for load_turned(), of 32 rows
    int turned_16;                ///< of 16 rows
    std::uint32_t weights[2][4];  ///< of the first 64 rows
    std::uint32_t more_weights[4];
    std::int32_t start[4];      ///< what sums begin with
    const unsigned char* from;  ///< what the lane copies first of a plane
    int copy_rows;              ///< rows that it copies, counted from its first
    std::uint32_t samples[4][4];
    std::uint32_t even[2];  ///< b of Product: columns 0, 2, 4, .. of 16 bytes
    std::uint32_t odd[2];
    std::int32_t sums[8][4];   ///< for even and odd bytes of each 16: of high bytes of coefficients, of low bytes
    std::uint32_t v[2][2][4];  ///< by component of the plane, group of columns: a of Product
    std::uint32_t columns[4];  ///< b of Product, of high bytes, of low bytes
    std::int32_t zeros[4];
    std::int32_t parts[2][4];
    std::int32_t p[3][kMmaTiles][2];
    std::uint32_t words[3][4];  ///< by channel, what is stored at once
    std::uint32_t sent;         ///< to another lane, then received from it
};

/// What is copied next: 64 bytes of all rows that a block needs of a plane, then the next 64 bytes; then the next
/// plane; then the next frame.
struct MmaCopies {
    int frame;
    int plane;
    int byte;
    int num_bytes;
    int stage;          ///< the destination
    std::int64_t step;  ///< strides of kMmaCopyRows rows
};

template <class Block>
TRICODEC_KERNEL void begin_copies(Block& block, const MmaArgs& args, const MmaWork& work, MmaCopies& next) {
    const FrameArgs& frame = args.frames[next.frame];
    const std::int32_t stride = frame.strides[next.plane];
    const unsigned char* const first =
        frame.planes[next.plane] + static_cast<std::int64_t>(work.rows.first) * stride + work.bytes.first;
    next.step = std::int64_t{kMmaCopyRows} * stride;
    next.num_bytes = work.bytes.count;
    next.byte = 0;
    block.each_warp([&](auto& warp, int number) {
        warp.each([&](MmaLane& lane, int i) {
            const int row = number * 8 + i / 4;
            lane.from = first + static_cast<std::int64_t>(row) * stride + i % 4 * 16;
            lane.copy_rows = work.rows.count - row;
        });
    });
}

/// Starts to copy to a stage, if anything is left. Bytes that are not needed are not copied: their coefficients are
/// zero. The 16 bytes of a row change places, so that load_turned() finds those of eight rows in different banks.
template <class Block>
TRICODEC_KERNEL void copy_stage(Block& block, const MmaArgs& args, MmaCopies& next) {
    const bool any = next.frame < args.num_frames;
    block.each_warp([&](auto& warp, int number) {
        warp.each([&](MmaLane& lane, int i) {
            if (any) {
                const int bytes = next.num_bytes - next.byte - i % 4 * 16;
                const unsigned char* at = lane.from + next.byte;
                const int to =
                    next.stage * args.stage_bytes + (number * 8 + i / 4) * kMmaBytes + (i % 4 ^ (i / 8 & 3)) * 16;
                if (bytes >= 16) {
                    // Five together: as many as a bilinear reduction by 4.7 needs.
                    for (int row = 0; row < lane.copy_rows; row += 5 * kMmaCopyRows) {
                        TRICODEC_UNROLL
                        for (int k = 0; k < 5; ++k, at += next.step) {
                            const int place = row + k * kMmaCopyRows;
                            if (place < lane.copy_rows) warp.start_copy(to + place * kMmaBytes, at);
                        }
                    }
                } else if (bytes > 0) {
                    TRICODEC_NO_UNROLL
                    for (int row = 0; row < lane.copy_rows; row += kMmaCopyRows, at += next.step) {
                        warp.start_copy(to + row * kMmaBytes, at, bytes);
                    }
                }
            }
            end_copy_group();
        });
    });
    next.stage = next.stage + 1 < kMmaStages ? next.stage + 1 : 0;
    next.byte += kMmaBytes;
    if (next.byte < next.num_bytes || !any) return;
    if (++next.plane == args.num_planes) {
        next.plane = 0;
        next.frame += args.shares;
        if (next.frame >= args.num_frames) return;
    }
    MmaWork work{};
    block.each_warp([&](auto& warp, int) {
        work = load<MmaWork>(warp.shared + args.work_place + next.plane * static_cast<int>(sizeof(MmaWork)));
    });
    begin_copies(block, args, work, next);
}

/// Adds up to kRows rows of a stage, 16 or 32, to the sums of its columns; with `kFirst` the sums begin.
template <int kSampleBytes, bool kFirst, int kRows, class Warp>
TRICODEC_KERNEL void add_rows(Warp& warp, const MmaPlane& plane, int from, int number) {
    // One load has 32 rows of 16 bytes, or 16 rows of 32.
    TRICODEC_UNROLL
    for (int i = 0; i < kRows / 8; ++i) {
        warp.load_turned([&](MmaLane& lane, int) {
            return Turned{from + (kRows == 32 ? lane.turned_32 ^ 16 * i : lane.turned_16 ^ 32 * i), lane.samples[i]};
        });
    }
    TRICODEC_UNROLL
    for (int chunk = 0; chunk < 4; ++chunk) {
        warp.each([&](MmaLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < kRows / 16; ++i) {
                const std::uint32_t* const pair =
                    kRows == 32 ? &lane.samples[chunk][2 * i] : &lane.samples[chunk / 2][chunk % 2 * 2];
                const std::uint32_t mask = kSampleBytes == 2 ? plane.mask : 0xFFFFFFFFU;
                lane.even[i] = permute(pair[0] & mask, pair[1] & mask, 0x6420);
                lane.odd[i] = permute(pair[0] & mask, pair[1] & mask, 0x7531);
            }
        });
        TRICODEC_UNROLL
        for (int odd = 0; odd < 2; ++odd) {
            warp.template multiply<Signed::a, kRows>([&](MmaLane& lane) {
                std::int32_t* const sums = lane.sums[2 * chunk + odd];
                const std::int32_t* const start = !kFirst                         ? sums
                                                  : kSampleBytes == 2 && odd == 1 ? lane.zeros
                                                                                  : lane.start;
                const std::uint32_t* const b = odd == 0 ? lane.even : lane.odd;
                const std::uint32_t* const weights = number < 2 ? lane.weights[number] : lane.more_weights;
                return Product{sums, start, weights, {b[0], kRows == 32 ? b[1] : 0}};
            });
        }
    }
}

/// V + kVBias of the lane's four columns of quad `quad` of component `part` of kParts: their low and high bytes.
template <int kSampleBytes, int kParts>
TRICODEC_KERNEL void make_mma_v(const MmaPlane& plane, const MmaLane& lane, int part, int quad, std::uint32_t& lows,
                                std::uint32_t& highs) {
    std::int32_t four[4];
    TRICODEC_UNROLL
    for (int k = 0; k < 4; ++k) {
        // Of 16 bytes a lane has bytes 4 t to 4 t + 3: even ones in sums[2 i], odd ones in sums[2 i + 1].
        if constexpr (kSampleBytes == 1) {
            const int chunk = kParts == 1 ? quad : 2 * quad + k / 2;
            const int odd = kParts == 1 ? k % 2 : part;
            const int which = kParts == 1 ? k / 2 : k % 2;
            const std::int32_t (&sums)[4] = lane.sums[2 * chunk + odd];
            four[k] = sums[which] * 256 + sums[2 + which];
        } else {
            const int chunk = kParts == 1 ? 2 * quad + k / 2 : k;
            const int which = kParts == 1 ? k % 2 : part;
            const std::int32_t (&low)[4] = lane.sums[2 * chunk];
            const std::int32_t (&high)[4] = lane.sums[2 * chunk + 1];
            // The sum fits 32 bits, its parts alone need not.
            const auto middle = static_cast<std::uint32_t>(low[which] + high[2 + which]);
            const std::uint32_t sum = static_cast<std::uint32_t>(low[2 + which]) + (middle << 8) +
                                      (static_cast<std::uint32_t>(high[which]) << 16);
            four[k] = static_cast<std::int32_t>(sum) >> plane.bits;
        }
    }
    split_bytes<kSampleBytes == 1 ? 1 : 0>(four, lows, highs);
}

/// The bytes of V from the sums of all rows.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void make_v(Warp& warp, const MmaPlane& plane) {
    using Columns = MmaColumns<kSampleBytes, kParts>;
    warp.each([&](MmaLane& lane, int) {
        TRICODEC_UNROLL
        for (int part = 0; part < kParts; ++part) {
            TRICODEC_UNROLL
            for (int group = 0; group < Columns::kGroups; ++group) {
                std::uint32_t (&v)[4] = lane.v[part][group];
                TRICODEC_UNROLL
                for (int quad = 0; quad < Columns::kQuads; ++quad) {
                    make_mma_v<kSampleBytes, kParts>(plane, lane, part, 2 * group + quad, v[2 * quad], v[2 * quad + 1]);
                }
            }
        }
    });
}

/// Step 2 for a stage at `from`: makes V.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void mma_rows(Warp& warp, const MmaPlane& plane, const Words4* row_weights, int rows, int from) {
    if (rows <= 16) {
        add_rows<kSampleBytes, true, 16>(warp, plane, from, 0);
    } else {
        add_rows<kSampleBytes, true, 32>(warp, plane, from, 0);
    }
    if (rows > 48) {
        add_rows<kSampleBytes, false, 32>(warp, plane, from + 32 * kMmaBytes, 1);
        for (int row = 64; row < rows; row += 32) {
            warp.each([&](MmaLane& lane, int i) {
                const auto words = load<Words4>(row_weights + row + i);
                TRICODEC_UNROLL
                for (int k = 0; k < 4; ++k) lane.more_weights[k] = words.w[k];
            });
            // A stage has room for a multiple of 16 rows.
            if (rows - row > 16) {
                add_rows<kSampleBytes, false, 32>(warp, plane, from + row * kMmaBytes, 2);
            } else {
                add_rows<kSampleBytes, false, 16>(warp, plane, from + row * kMmaBytes, 2);
            }
        }
    } else if (rows > 32) {
        add_rows<kSampleBytes, false, 16>(warp, plane, from + 32 * kMmaBytes, 1);
    }
    make_v<kSampleBytes, kParts>(warp, plane);
}

}  // namespace tricodec::image::gpu
