// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/copy_run.h"
#include "image/cuda/direct_chroma.h"
#include "image/cuda/direct_samples.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/whole_colors.h"

namespace tricodec::image::gpu {

// The kernel for what decoders and models exchange most: pictures with half as many chroma columns as luma's, to RGB.
// It does what direct_kernel.h does with fewer instructions: rows begin with even ones, red needs no U and blue no V,
// and all arithmetic is in floats, which a GPU has twice as many units for as for integers (whole_colors.h). Where
// samples and elements are aligned and a row is a multiple of a thread's pixels, nothing is at an edge but the repeated
// chroma; kAny is the variant for other pictures of 8 bits, and bytes go both ways as shifted_words.h has it.

inline constexpr int kWholeWarps = 4;  ///< of a block, one below the other: they share chroma rows
inline constexpr int kWholeRows = 2;   ///< rows of the grid that a thread makes
/// Bytes of a warp's row while its pixels wait, and what is read beside.
inline constexpr int kWholeStage = 32 * 48 + 16;
/// Bytes from row to row at which what is read beside a row is the next one's.
inline constexpr int kFarRows = 64;

/// Whether a warp's pixels wait in shared memory, to go out in words that are side by side too.
constexpr bool is_staged(WholeLayout layout, bool any) {
    return layout == WholeLayout::hwc || layout == WholeLayout::hwc8 || any;
}

struct WholeArgs {
    SamplesArgs samples;
    std::int32_t grid_width;  ///< a multiple of a thread's pixels, or kAny
    std::int32_t grid_height;
    std::int32_t chroma_left;   ///< chroma column of grid column 0
    std::int32_t channel[3];    ///< the output's channels that are red, green and blue
    std::int32_t chroma_first;  ///< the row between the first two rows of the grid
    std::int32_t chroma_step;   ///< to that of the next two
    std::int32_t chroma_above;  ///< from it to the other row that the first one of two is made from: 0 or -1
    std::int32_t far_rows;      ///< kAny: rows of every plane are kFarRows bytes or more apart
    std::int32_t chroma_row_begin;
    std::int32_t chroma_row_end;
    std::uint32_t chroma_weight[2][2];  ///< as ChromaRows has them, of 8 and 10 bits in quarters
    ChromaDots chroma_dots;             ///< of 8 bits: the same
    std::int64_t step_y;
    std::int64_t channel_offset[3];
    WholeColor color;
    FrameArgs frames[kMaxFrames];  ///< luma begins with the crop's first sample, chroma with the picture's
};

/// Lanes of a warp that are side by side; others are below them. Those that store from registers make 128 columns, of
/// which the common widths are multiples or little less. Those that wait for one another make rows as long as can be,
/// so that they copy them in the same way.
constexpr int whole_lanes(WholeLayout layout, int pixels, bool any) {
    return is_staged(layout, any) ? 32 : 128 / pixels;
}

/// Rows that a warp makes.
constexpr int whole_warp_rows(int lanes) {
    return 32 / lanes * kWholeRows;
}

/// Where a thread's pixels are on the grid.
struct WholeUnit {
    int x;
    int y;
};

template <int kLanes, int kPixels>
TRICODEC_KERNEL WholeUnit whole_unit(int segment, int group, int thread) {
    return {(segment * kLanes + thread % kLanes) * kPixels,
            (group * kWholeWarps + thread / 32) * whole_warp_rows(kLanes) + thread % 32 / kLanes * kWholeRows};
}

/// Where pixel `number` of a warp's row waits in shared memory: HWC8's have eight bytes, and eight more after each four
/// keep the threads of a half warp on banks of their own.
TRICODEC_KERNEL int hwc8_place(int number) {
    return number / 4 * 40 + number % 4 * 8;
}

/// A thread's row, to global memory at `to` or to shared memory.
template <Element kElement, WholeLayout kLayout, bool kAny>
TRICODEC_KERNEL void put_whole_row(const WholeArgs& args, const WholeWords<kElement, kLayout>& made, unsigned char* to,
                                   unsigned char* stage, int lane) {
    TRICODEC_UNROLL
    for (int i = 0; i < made.kWords / 4; ++i) {
        const Words4 words{{made.words[4 * i], made.words[4 * i + 1], made.words[4 * i + 2], made.words[4 * i + 3]}};
        if constexpr (kLayout == WholeLayout::hwc8) {
            store(stage + hwc8_place(4 * lane + 2 * i), Words2{{words.w[0], words.w[1]}});
            store(stage + hwc8_place(4 * lane + 2 * i + 1), Words2{{words.w[2], words.w[3]}});
        } else if constexpr (kLayout == WholeLayout::hwc) {
            store(stage + 48 * lane + 16 * i, words);
        } else if constexpr (kAny) {
            store(stage + 16 * lane + 512 * i, words);
        } else {
            store(to + args.channel_offset[i], words);
        }
    }
}

/// Whether all that load_shifted() reads for a thread is between the crop's first byte and its last one. The next rows'
/// bytes are, where rows are far enough apart.
template <int kPixels>
TRICODEC_KERNEL bool is_inside(const WholeArgs& args, int x, const int (&y)[2], const int (&rows)[3]) {
    constexpr int kBeside = 32;  // columns that have 15 bytes or more in every plane
    const bool left = x >= kBeside || (y[0] > 0 && rows[0] > args.chroma_row_begin);
    const bool right =
        x + kPixels + kBeside <= args.grid_width || (y[1] < args.grid_height - 1 && rows[2] < args.chroma_row_end - 1);
    return args.far_rows != 0 && left && right;
}

/// All samples of a thread's pixels. `y` are the two rows of luma, `column` and `rows` chroma's.
template <int kBits, int kPixels, bool kAny, class Chroma>
TRICODEC_KERNEL void load_whole(const WholeArgs& args, const FrameArgs& frame, int x, const int (&y)[2], int column,
                                const int (&rows)[3], RowSamples<kBits, kPixels> (&luma)[2], Chroma& chroma) {
    if constexpr (kAny) {
        const SamplesArgs& samples = args.samples;
        const bool inside = is_inside<kPixels>(args, x, y, rows);
        TRICODEC_UNROLL
        for (int row = 0; row < 2; ++row) {
            const unsigned char* const from = row_of(frame, 0, y[row]);
            if (inside) {
                load_shifted(from + x, luma[row].words);
            } else {
                load_samples<1, kPixels>(from, x, 0, args.grid_width, false, luma[row].words);
            }
        }
        chroma.load_any(frame, samples, column, rows[0], rows[1], rows[2], inside);
    } else {
        TRICODEC_UNROLL
        for (int row = 0; row < 2; ++row) {
            load_words(row_of(frame, 0, y[row]) + x * bytes_of(kBits), luma[row].words);
        }
        chroma.load_whole(frame, args.samples, column, rows[0], rows[1], rows[2]);
    }
}

/// Step 1: a thread's pixels, to global memory or to the warp's shared memory.
template <int kBits, Element kElement, WholeLayout kLayout, template <int, int> class Chroma, bool kAny>
TRICODEC_KERNEL void whole_pixels(const WholeArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                  unsigned char* stage) {
    constexpr int kPixels = WholeWords<kElement, kLayout>::kPixels;
    const WholeUnit unit = whole_unit<whole_lanes(kLayout, kPixels, kAny), kPixels>(segment, group, thread);
    if (unit.x >= args.grid_width || unit.y >= args.grid_height) return;
    const bool two = unit.y + 1 < args.grid_height;

    const int y[2] = {unit.y, two ? unit.y + 1 : unit.y};
    const int middle = args.chroma_first + unit.y / 2 * args.chroma_step;
    const int above = middle + args.chroma_above;
    const int rows[3] = {above < args.chroma_row_begin ? args.chroma_row_begin : above, middle,
                         middle + 1 < args.chroma_row_end ? middle + 1 : args.chroma_row_end - 1};
    RowSamples<kBits, kPixels> luma[2];
    Chroma<kBits, kPixels> chroma;
    load_whole<kBits, kPixels, kAny>(args, frame, unit.x, y, args.chroma_left + unit.x / 2, rows, luma, chroma);
    if constexpr (kBits != 8) chroma.settle(args.samples, args.chroma_weight);
    for (auto& row : luma) row.settle(args.samples);

    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        WholeWords<kElement, kLayout> made;
        make_whole_row<kBits>(args.color, args.chroma_dots, luma[row], chroma, row, made);
        if (row == 1 && !two) break;
        unsigned char* const to = frame.out + (unit.y + row) * args.step_y + unit.x * static_cast<int>(16 / kPixels);
        put_whole_row<kElement, kLayout, kAny>(args, made, to, stage + row * kWholeStage, thread % 32);
    }
}

/// Step 2 for pixels that wait, when all of the warp have done step 1.
template <Element kElement, WholeLayout kLayout, bool kAny>
TRICODEC_KERNEL void whole_store(const WholeArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                 const unsigned char* stage) {
    constexpr int kPixels = WholeWords<kElement, kLayout>::kPixels;
    constexpr int kPixelBytes = kLayout == WholeLayout::hwc8                                  ? 16
                                : kLayout == WholeLayout::chw || kLayout == WholeLayout::chw2 ? 16 / kPixels
                                                                                              : 48 / kPixels;
    const int lane = thread % 32;
    const WholeUnit first = whole_unit<32, kPixels>(segment, group, thread - lane);
    const int pixels = args.grid_width - first.x < 32 * kPixels ? args.grid_width - first.x : 32 * kPixels;
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (first.y + row >= args.grid_height) break;
        unsigned char* const to = frame.out + (first.y + row) * args.step_y + first.x * kPixelBytes;
        const unsigned char* const from = stage + row * kWholeStage;
        if constexpr (kAny && kLayout == WholeLayout::hwc) {
            copy_run(to, from, pixels * kPixelBytes, lane);
        } else if constexpr (kAny) {
            for (int i = 0; i < 3; ++i) {
                copy_run(to + args.channel_offset[i], from + 512 * i, pixels * kPixelBytes, lane);
            }
        } else {
            TRICODEC_UNROLL
            for (int i = 0; i < kPixels * kPixelBytes / 16; ++i) {
                const int at = 16 * lane + 512 * i;
                if (at >= pixels * kPixelBytes) continue;
                if constexpr (kLayout == WholeLayout::hwc8) {
                    const auto two = load<Words2>(from + hwc8_place(at / 16));
                    store(to + at, Words4{{two.w[0], two.w[1], 0, 0}});
                } else {
                    store(to + at, load<Words4>(from + at));
                }
            }
        }
    }
}

}  // namespace tricodec::image::gpu
