// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/copy_run.h"
#include "image/cuda/direct_samples.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// The kernel for pictures that keep their size: each thread makes the pixels of two rows that fill 16 bytes a channel.
// Luma goes straight through; chroma has two taps of whole quarters each way, so that P is exact in integers, and 4 P
// fits 16 bits (direct_samples.h). What a warp has made it lays out in shared memory, and writes in whole 16-byte
// words. A warp's pixels begin at a multiple of a thread's pixels in the source, so that loads are aligned whatever the
// crop.

inline constexpr int kDirectWarps = 4;                    ///< of a block, one below the other: they share chroma rows
inline constexpr int kDirectRows = 2;                     ///< rows of the grid that a warp makes, one after the other
inline constexpr int kLaneBytes = 48;                     ///< what a thread makes of one row: three times 16 bytes
inline constexpr int kStageBytes = 32 * kLaneBytes + 16;  ///< of one row; copy_run reads a little beyond

struct DirectArgs {
    SamplesArgs samples;
    const ChromaRow* chroma_rows;  ///< by row of the grid
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t crop_left;  ///< luma column of grid column 0
    std::int32_t first_x;    ///< grid column of the first segment: 0 or less
    std::int32_t num_segments;
    std::int32_t aligned;  ///< every row of every channel of every frame begins at a multiple of 16 bytes
    OutputArgs output;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

/// What a warp makes: 32 threads' pixels of two rows.
struct DirectUnit {
    int x;      ///< grid column of the first thread's first pixel; below 0 where the crop begins within its word
    int y;      ///< first row of the grid
    int begin;  ///< grid columns that exist
    int end;
};

template <int kPixels>
TRICODEC_KERNEL DirectUnit direct_unit(const DirectArgs& args, int block, int warp) {
    DirectUnit unit{};
    const int row = block / args.num_segments;
    unit.x = args.first_x + (block - row * args.num_segments) * 32 * kPixels;
    unit.y = (row * kDirectWarps + warp) * kDirectRows;
    unit.begin = unit.x < 0 ? 0 : unit.x;
    unit.end = unit.x + 32 * kPixels < args.grid_width ? unit.x + 32 * kPixels : args.grid_width;
    return unit;
}

/// Whether the warp stores from registers: its channels stand apart, whole and aligned.
template <int kPixels>
TRICODEC_KERNEL bool stores_directly(const DirectArgs& args, const DirectUnit& unit) {
    return args.aligned != 0 && args.output.group_size == 1 && unit.end - unit.x == 32 * kPixels && unit.x >= 0;
}

/// Four pixels as bytes: words 4 * channel + number, or 3 * number on where channels lie side by side.
TRICODEC_KERNEL void put_bytes(const std::int32_t (&v)[3][4], bool side_by_side, int number,
                               std::uint32_t (&words)[12]) {
    if (side_by_side) {
        words[3 * number] = pack_bytes(v[0][0], v[1][0], v[2][0], v[0][1]);
        words[3 * number + 1] = pack_bytes(v[1][1], v[2][1], v[0][2], v[1][2]);
        words[3 * number + 2] = pack_bytes(v[2][2], v[0][3], v[1][3], v[2][3]);
    } else {
        for (int c = 0; c < 3; ++c) words[4 * c + number] = pack_bytes(v[c][0], v[c][1], v[c][2], v[c][3]);
    }
}

TRICODEC_KERNEL std::uint32_t float_pair(Element element, float a, float b) {
    return element == Element::float16 ? half_pair(a, b) : bfloat_pair(a, b);
}

/// Four pixels as floats of two or four bytes; `number` counts fours.
template <int kElementBytes>
TRICODEC_KERNEL void put_floats(const float (&v)[3][4], Element element, bool side_by_side, int number,
                                std::uint32_t (&words)[12]) {
    if constexpr (kElementBytes == 4) {
        for (int c = 0; c < 3; ++c) {
            for (int i = 0; i < 4; ++i) {
                if (side_by_side) {
                    words[3 * i + c] = bits_of_float(v[c][i]);
                } else {
                    words[4 * c + i] = bits_of_float(v[c][i]);
                }
            }
        }
    } else if (side_by_side) {
        std::uint32_t* const to = words + 6 * number;
        to[0] = float_pair(element, v[0][0], v[1][0]);
        to[1] = float_pair(element, v[2][0], v[0][1]);
        to[2] = float_pair(element, v[1][1], v[2][1]);
        to[3] = float_pair(element, v[0][2], v[1][2]);
        to[4] = float_pair(element, v[2][2], v[0][3]);
        to[5] = float_pair(element, v[1][3], v[2][3]);
    } else {
        for (int c = 0; c < 3; ++c) {
            words[4 * c + 2 * number] = float_pair(element, v[c][0], v[c][1]);
            words[4 * c + 2 * number + 1] = float_pair(element, v[c][2], v[c][3]);
        }
    }
}

/// The channels of four pixels from 4 P of their components: luma in a word each, chroma in one word.
template <int kSampleBytes, int kElementBytes>
TRICODEC_KERNEL void make_four(const DirectArgs& args, const std::uint32_t (&luma)[4], const std::uint32_t (&chroma)[4],
                               int number, std::uint32_t (&words)[12]) {
    const ColorArgs& color = args.color;
    const bool side_by_side = args.output.group_size == 3;
    if constexpr (kElementBytes == 1) {
        std::int32_t v[3][4];
        for (int i = 0; i < 4; ++i) {
            const auto y = static_cast<std::int32_t>(luma[i]) * (kSampleBytes == 1 ? 256 : 1);
            const auto a = static_cast<std::int32_t>(chroma[i] & 0xFFFFU);
            const auto b = static_cast<std::int32_t>(chroma[i] >> 16);
            for (int c = 0; c < 3; ++c) {
                v[c][i] =
                    (color.fixed[c][0] * y + color.fixed[c][1] * a + color.fixed[c][2] * b + 4 * color.fixed_bias[c]) >>
                    21;
            }
        }
        put_bytes(v, side_by_side, number, words);
    } else {
        // 2^23 + n is the float whose bits are n below those of 2^23: no conversion, and the product is exact.
        constexpr float kLumaScale = kSampleBytes == 1 ? 64.0F : 0.25F;
        constexpr float kTwo23 = 8388608.0F;
        float v[3][4];
        for (int i = 0; i < 4; ++i) {
            const float y = multiply_add_exact(float_of_bits(luma[i] | 0x4B000000U), kLumaScale,
                                               -(kTwo23 * kLumaScale + color.offset[0]));
            const float a = multiply_add_exact(float_of_bits(permute(chroma[i], 0x4B00U, 0x5410)), 0.25F,
                                               -(kTwo23 * 0.25F + color.offset[1]));
            const float b = multiply_add_exact(float_of_bits(permute(chroma[i], 0x4B00U, 0x5432)), 0.25F,
                                               -(kTwo23 * 0.25F + color.offset[2]));
            for (int c = 0; c < 3; ++c) v[c][i] = make_float(color, c, y, a, b);
        }
        put_floats<kElementBytes>(v, args.output.element, side_by_side, number, words);
    }
}

/// Makes one row of a thread's pixels.
template <int kSampleBytes, int kElementBytes, template <int, int> class ChromaSamples>
TRICODEC_KERNEL void direct_row(const DirectArgs& args, const FrameArgs& frame, int x, int y,
                                std::uint32_t (&words)[12]) {
    constexpr int kPixels = 16 / kElementBytes;
    const SamplesArgs& samples = args.samples;
    const int column = args.crop_left + x;
    const bool whole = x >= 0 && x + kPixels <= args.grid_width && samples.aligned != 0;
    LumaSamples<kSampleBytes, kPixels> luma;
    luma.load(frame, samples, column, y, whole);
    ChromaSamples<kSampleBytes, kPixels> chroma;
    chroma.load(frame, samples, args.chroma_rows, column, y, whole);
    for (int four = 0; four < kPixels / 4; ++four) {
        std::uint32_t four_luma[4];
        std::uint32_t four_chroma[4];
        luma.get(samples, four, four_luma);
        chroma.get(samples, four, four_chroma);
        make_four<kSampleBytes, kElementBytes>(args, four_luma, four_chroma, four, words);
    }
}

/// Step 1: a thread's pixels, to global memory or to the warp's shared memory.
template <int kSampleBytes, int kElementBytes, template <int, int> class ChromaSamples>
TRICODEC_KERNEL void direct_pixels(const DirectArgs& args, const FrameArgs& frame, int block, int thread,
                                   unsigned char* stage) {
    constexpr int kPixels = 16 / kElementBytes;
    const int lane = thread % 32;
    const DirectUnit unit = direct_unit<kPixels>(args, block, thread / 32);
    const int x = unit.x + lane * kPixels;
    if (x >= unit.end || x + kPixels <= unit.begin) return;
    const OutputArgs& output = args.output;
    TRICODEC_KEEP_LOOP
    for (int row = 0; row < kDirectRows; ++row) {
        if (unit.y + row >= args.grid_height) return;
        std::uint32_t words[12];
        direct_row<kSampleBytes, kElementBytes, ChromaSamples>(args, frame, x, unit.y + row, words);
        const bool directly = stores_directly<kPixels>(args, unit);
        unsigned char* const to = directly ? frame.out + (unit.y + row) * output.step_y + x * output.step_x
                                           : stage + row * kStageBytes + lane * (16 * output.group_size);
        for (int i = 0; i < 3; ++i) {
            if (i >= output.num_groups * output.group_size) break;
            const std::int64_t apart = directly ? output.element_offset[i] : output.group_size == 1 ? 512 * i : 16 * i;
            store(to + apart, Words4{{words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]}});
        }
    }
}

/// Step 2, when all of the warp have done step 1: what waits in shared memory goes out.
template <int kElementBytes>
TRICODEC_KERNEL void direct_store(const DirectArgs& args, const FrameArgs& frame, int block, int thread,
                                  const unsigned char* stage) {
    constexpr int kPixels = 16 / kElementBytes;
    const DirectUnit unit = direct_unit<kPixels>(args, block, thread / 32);
    if (stores_directly<kPixels>(args, unit)) return;
    const OutputArgs& output = args.output;
    const int pixel_bytes = output.group_size * kElementBytes;
    TRICODEC_KEEP_LOOP
    for (int row = 0; row < kDirectRows; ++row) {
        if (unit.y + row >= args.grid_height) return;
        unsigned char* const to = frame.out + (unit.y + row) * output.step_y + unit.begin * output.step_x;
        const unsigned char* const from = stage + row * kStageBytes + (unit.begin - unit.x) * pixel_bytes;
        for (int group = 0; group < output.num_groups; ++group) {
            copy_run(to + output.element_offset[group * output.group_size], from + group * 512,
                     (unit.end - unit.begin) * pixel_bytes, thread % 32);
        }
    }
}

}  // namespace tricodec::image::gpu
