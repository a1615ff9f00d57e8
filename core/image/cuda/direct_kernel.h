// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/copy_run.h"
#include "image/cuda/direct_chroma.h"
#include "image/cuda/direct_colors.h"
#include "image/cuda/direct_samples.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// The kernel for pictures that keep their size: each thread makes the pixels of two rows that fill 16 bytes a channel.
// Luma goes straight through; chroma has two taps of whole quarters each way, so that P is a short sum of integers
// (direct_samples.h). Channels that stand apart are stored from registers; those side by side a warp lays out in shared
// memory, and writes in whole 16-byte words. A warp's pixels begin at a multiple of a thread's pixels in the source,
// and its rows at an even one, so that loads are aligned and rows share chroma whatever the crop.

inline constexpr int kDirectWarps = 4;          ///< of a block, one below the other: they share chroma rows
inline constexpr int kDirectRows = 2;           ///< rows of the grid that a thread makes
inline constexpr int kStageRow = 32 * 48 + 16;  ///< bytes of a warp's row; copy_run reads a little beyond

struct DirectArgs {
    SamplesArgs samples;
    const ChromaRows* chroma_rows;  ///< by pair of rows
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t crop_left;  ///< luma column and row of grid point (0, 0)
    std::int32_t crop_top;
    std::int32_t first_x;      ///< of the first warp's pixels: 0, or less where the crop begins within a word
    std::int32_t first_y;      ///< of the first warp's rows: 0 or -1
    std::int32_t aligned;      ///< every row of every channel of every frame begins at a multiple of 16 bytes
    std::int32_t whole_width;  ///< a row is a multiple of a thread's pixels, and first_x is 0
    OutputArgs output;
    DirectColor direct_color;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

/// What a warp makes: 32 threads' pixels of two rows.
struct DirectUnit {
    int x;      ///< grid column of the first thread's first pixel; below 0 where the crop begins within its word
    int y;      ///< the first of two rows of the grid; below 0 where the crop begins with the second
    int begin;  ///< grid columns that exist
    int end;
};

template <int kPixels>
TRICODEC_KERNEL DirectUnit direct_unit(const DirectArgs& args, int segment, int group, int warp) {
    DirectUnit unit{};
    unit.x = args.first_x + segment * 32 * kPixels;
    unit.y = args.first_y + (group * kDirectWarps + warp) * kDirectRows;
    unit.begin = unit.x < 0 ? 0 : unit.x;
    unit.end = unit.x + 32 * kPixels < args.grid_width ? unit.x + 32 * kPixels : args.grid_width;
    return unit;
}

/// Whether threads store from registers: channels stand apart, and every thread's pixels are whole and aligned.
TRICODEC_KERNEL bool stores_directly(const DirectArgs& args) {
    return args.aligned != 0 && args.whole_width != 0 && args.output.group_size == 1;
}

/// Step 1: a thread's pixels, to global memory or to the warp's shared memory.
template <int kBits, Element kElement, template <int, int> class Chroma>
TRICODEC_KERNEL void direct_pixels(const DirectArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                   unsigned char* stage) {
    constexpr int kPixels = DirectWords<kElement>::kPixels;
    const int lane = thread % 32;
    const DirectUnit unit = direct_unit<kPixels>(args, segment, group, thread / 32);
    const int x = unit.x + lane * kPixels;
    if (x >= unit.end || x + kPixels <= unit.begin || unit.y >= args.grid_height) return;

    const SamplesAt at{
        args.crop_left + x,
        {args.crop_top + (unit.y < 0 ? 0 : unit.y),
         args.crop_top + (unit.y + 1 < args.grid_height ? unit.y + 1 : args.grid_height - 1)},
        x >= 0 && x + kPixels <= args.grid_width && args.samples.aligned != 0,
    };
    Chroma<kBits, kPixels> chroma;
    chroma.load(frame, args.samples, args.chroma_rows + (unit.y - args.first_y) / 2, at);
    RowSamples<kBits, kPixels> luma[2];
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        load_samples<bytes_of(kBits), kPixels>(row_of(frame, 0, at.rows[row]), at.column, args.samples.luma_begin,
                                               args.samples.luma_end, at.whole, luma[row].words);
    }
    chroma.settle(args.samples);
    for (auto& row : luma) row.settle(args.samples);

    const OutputArgs& output = args.output;
    constexpr int kChannels = Chroma<kBits, kPixels>::kChannels;
    const int parts = output.num_groups * output.group_size;
    const bool directly = stores_directly(args);
    unsigned char* const out = frame.out + unit.y * output.step_y + x * output.step_x;
    unsigned char* const staged = stage + lane * (16 * output.group_size);
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (unit.y + row < 0 || unit.y + row >= args.grid_height) continue;
        DirectWords<kElement> made;
        make_row(args.direct_color, args.color, luma[row], chroma, row, kChannels == 3 && output.group_size == 3, made);
        TRICODEC_UNROLL
        for (int i = 0; i < kChannels; ++i) {
            if (i >= parts) break;
            const Words4 words{
                {made.words[4 * i], made.words[4 * i + 1], made.words[4 * i + 2], made.words[4 * i + 3]}};
            if (directly) {
                store(out + row * output.step_y + output.element_offset[i], words);
            } else {
                store(staged + row * kStageRow + (output.group_size == 1 ? 512 * i : 16 * i), words);
            }
        }
    }
}

/// Step 2, when all of the warp have done step 1: what waits in shared memory goes out.
template <Element kElement>
TRICODEC_KERNEL void direct_store(const DirectArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                  const unsigned char* stage) {
    constexpr int kPixels = DirectWords<kElement>::kPixels;
    if (stores_directly(args)) return;
    const int lane = thread % 32;
    const DirectUnit unit = direct_unit<kPixels>(args, segment, group, thread / 32);
    const OutputArgs& output = args.output;
    const int pixel_bytes = output.group_size * (16 / kPixels);
    const int num_bytes = (unit.end - unit.begin) * pixel_bytes;
    unsigned char* const out = frame.out + unit.y * output.step_y + unit.begin * output.step_x;
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (unit.y + row < 0 || unit.y + row >= args.grid_height) continue;
        unsigned char* const to = out + row * output.step_y;
        const unsigned char* const from = stage + row * kStageRow;
        if (args.aligned != 0 && args.whole_width != 0) {  // one group of three, in whole words
            for (int i = 0; i < 3; ++i) {
                const int at = 16 * lane + 512 * i;
                if (at < num_bytes) store(to + at, load<Words4>(from + at));
            }
            continue;
        }
        const unsigned char* const begin = from + (unit.begin - unit.x) * pixel_bytes;
        for (int number = 0; number < output.num_groups; ++number) {
            copy_run(to + output.element_offset[number * output.group_size], begin + number * 512, num_bytes, lane);
        }
    }
}

}  // namespace tricodec::image::gpu
