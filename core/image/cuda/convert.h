// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/convert_samples.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// The kernel for pictures that keep their size: each thread makes the pixels of two rows that fill 16 bytes a channel.
// Luma is used as it is; chroma has two taps of integer quarters each way, so that P is a short sum of integers
// (convert_samples.h). Channels in planes of their own are stored from registers. Channels side by side are laid out in
// shared memory by a warp and stored in words of 16 bytes. A warp's pixels begin at a multiple of a thread's pixels in
// the source, and its rows at an even one, so that loads are aligned and rows share chroma with any crop.

/// The channels of a thread's pixels in twelve words: side by side as in memory, or four words a channel.
template <Element kElement>
struct ConvertWords {
    static constexpr int kPixels = kElement == Element::uint8 ? 16 : kElement == Element::float32 ? 4 : 8;
    std::uint32_t words[12];

    TRICODEC_KERNEL void put(const std::int32_t (&v)[3][4], bool side_by_side, int four) {
        if (side_by_side) {
            words[3 * four] = pack_bytes(v[0][0], v[1][0], v[2][0], v[0][1]);
            words[3 * four + 1] = pack_bytes(v[1][1], v[2][1], v[0][2], v[1][2]);
            words[3 * four + 2] = pack_bytes(v[2][2], v[0][3], v[1][3], v[2][3]);
        } else {
            for (int c = 0; c < 3; ++c) words[4 * c + four] = pack_bytes(v[c][0], v[c][1], v[c][2], v[c][3]);
        }
    }

    TRICODEC_KERNEL void put(const float (&v)[3][4], bool side_by_side, int four) {
        if constexpr (kElement == Element::float32) {
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
            std::uint32_t* const to = words + 6 * four;
            to[0] = pair(v[0][0], v[1][0]);
            to[1] = pair(v[2][0], v[0][1]);
            to[2] = pair(v[1][1], v[2][1]);
            to[3] = pair(v[0][2], v[1][2]);
            to[4] = pair(v[2][2], v[0][3]);
            to[5] = pair(v[1][3], v[2][3]);
        } else {
            for (int c = 0; c < 3; ++c) {
                words[4 * c + 2 * four] = pair(v[c][0], v[c][1]);
                words[4 * c + 2 * four + 1] = pair(v[c][2], v[c][3]);
            }
        }
    }

private:
    TRICODEC_KERNEL static std::uint32_t pair(float a, float b) {
        if constexpr (kElement == Element::float16) return half_pair(a, b);
        return bfloat_pair(a, b);
    }
};

/// Integer channels of four pixels of a row from half as many chroma columns. The part of a chroma column in a channel
/// is computed once: `before` has it for the first column of these four pixels on entry, of the next four on return.
template <class Luma, class Chroma>
TRICODEC_KERNEL void make_bytes_of_half(const ConvertColor& color, const Luma& luma, const Chroma& chroma, int row,
                                        int four, std::int32_t (&before)[3], std::int32_t (&v)[3][4]) {
    TRICODEC_UNROLL
    for (int pair = 0; pair < 2; ++pair) {
        const int pixel = 4 * four + 2 * pair;
        const std::uint32_t next = chroma.v[row][pixel / 2 + 1];
        const auto a = static_cast<std::int32_t>(next & 0xFFFFU);
        const auto b = static_cast<std::int32_t>(next >> 16);
        const std::int32_t first = luma.integer(pixel);
        const std::int32_t second = luma.integer(pixel + 1);
        for (int c = 0; c < 3; ++c) {
            const std::int32_t after = color.chroma[c][1] * b + (color.chroma[c][0] * a + color.bias[c]);
            v[c][2 * pair] = (first * color.luma_2p[c] + before[c]) >> 20;
            v[c][2 * pair + 1] = (second * color.luma_4p[c] + (before[c] + after)) >> 21;
            before[c] = after;
        }
    }
}

template <class Chroma>
TRICODEC_KERNEL void begin_half(const ConvertColor& color, const Chroma& chroma, int row, std::int32_t (&before)[3]) {
    const auto a = static_cast<std::int32_t>(chroma.v[row][0] & 0xFFFFU);
    const auto b = static_cast<std::int32_t>(chroma.v[row][0] >> 16);
    for (int c = 0; c < 3; ++c) before[c] = color.chroma[c][1] * b + (color.chroma[c][0] * a + color.bias[c]);
}

/// The same where every pixel has its own chroma, or a mean of it.
template <class Luma, class Chroma>
TRICODEC_KERNEL void make_bytes_of_full(const ConvertColor& color, const Luma& luma, const Chroma& chroma, int row,
                                        int four, std::int32_t (&v)[3][4]) {
    for (int i = 0; i < 4; ++i) {
        const std::int32_t y = luma.integer(4 * four + i);
        const std::int32_t a = chroma.integer(row, 4 * four + i, 0);
        const std::int32_t b = chroma.integer(row, 4 * four + i, 1);
        for (int c = 0; c < Chroma::kChannels; ++c) {
            const std::int32_t sum = color.chroma[c][0] * a + (color.luma_4p[c] * y + color.bias[c]);
            v[c][i] = (color.chroma[c][1] * b + sum) >> Luma::kDownToBytes;
        }
    }
}

/// All channels of a row of a thread's pixels.
template <Element kElement, class Luma, class Chroma>
TRICODEC_KERNEL void make_row(const ConvertColor& integers, const ColorArgs& color, const Luma& luma,
                              const Chroma& chroma, int row, bool side_by_side, ConvertWords<kElement>& words) {
    constexpr int kFours = ConvertWords<kElement>::kPixels / 4;
    if constexpr (kElement == Element::uint8) {
        std::int32_t before[3];
        if constexpr (Chroma::kHalf) begin_half(integers, chroma, row, before);
        TRICODEC_UNROLL
        for (int four = 0; four < kFours; ++four) {
            std::int32_t v[3][4] = {};
            if constexpr (Chroma::kHalf) {
                make_bytes_of_half(integers, luma, chroma, row, four, before, v);
            } else {
                make_bytes_of_full(integers, luma, chroma, row, four, v);
            }
            words.put(v, side_by_side, four);
        }
    } else {
        TRICODEC_UNROLL
        for (int four = 0; four < kFours; ++four) {
            float v[3][4] = {};
            for (int i = 0; i < 4; ++i) {
                const int pixel = 4 * four + i;
                const float y = luma.centered(pixel, color.offset[0]);
                const float a = chroma.centered(row, pixel, 0, color.offset[1]);
                const float b = chroma.centered(row, pixel, 1, color.offset[2]);
                for (int c = 0; c < Chroma::kChannels; ++c) v[c][i] = make_float(color, c, y, a, b);
            }
            words.put(v, side_by_side, four);
        }
    }
}

/// What a warp makes: 32 threads' pixels of two rows.
struct ConvertUnit {
    int x;      ///< grid column of the first thread's first pixel; below 0 if the crop begins within its word
    int y;      ///< the first of two rows of the grid; below 0 if the crop begins with the second
    int begin;  ///< grid columns that exist
    int end;
};

template <int kPixels>
TRICODEC_KERNEL ConvertUnit convert_unit(const ConvertArgs& args, int segment, int group, int warp) {
    ConvertUnit unit{};
    unit.x = args.first_x + segment * 32 * kPixels;
    unit.y = args.first_y + (group * kConvertWarps + warp) * kConvertRows;
    unit.begin = unit.x < 0 ? 0 : unit.x;
    unit.end = unit.x + 32 * kPixels < args.grid_width ? unit.x + 32 * kPixels : args.grid_width;
    return unit;
}

/// Whether threads store from registers: each channel is a plane, and every thread's pixels are complete and aligned.
TRICODEC_KERNEL bool stores_from_registers(const ConvertArgs& args) {
    return args.aligned != 0 && args.full_width != 0 && args.output.group_size == 1;
}

/// Step 1: a thread's pixels, to global memory or to the warp's shared memory.
template <int kBits, Element kElement, template <int, int> class Chroma>
TRICODEC_KERNEL void convert_pixels(const ConvertArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                    unsigned char* stage) {
    constexpr int kPixels = ConvertWords<kElement>::kPixels;
    const int lane = thread % 32;
    const ConvertUnit unit = convert_unit<kPixels>(args, segment, group, thread / 32);
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
        load_samples<sample_bytes_of(kBits), kPixels>(row_of(frame, 0, at.rows[row]), at.column,
                                                      args.samples.luma_begin, args.samples.luma_end, at.aligned,
                                                      luma[row].words);
    }
    chroma.settle(args.samples);
    for (auto& row : luma) row.settle(args.samples);

    const OutputArgs& output = args.output;
    constexpr int kChannels = Chroma<kBits, kPixels>::kChannels;
    const int parts = output.num_groups * output.group_size;
    const bool from_registers = stores_from_registers(args);
    unsigned char* const out = frame.out + unit.y * output.step_y + x * output.step_x;
    unsigned char* const staged = stage + lane * (16 * output.group_size);
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (unit.y + row < 0 || unit.y + row >= args.grid_height) continue;
        ConvertWords<kElement> made;
        make_row(args.convert_color, args.color, luma[row], chroma, row, kChannels == 3 && output.group_size == 3,
                 made);
        TRICODEC_UNROLL
        for (int i = 0; i < kChannels; ++i) {
            if (i >= parts) break;
            const Words4 words{
                {made.words[4 * i], made.words[4 * i + 1], made.words[4 * i + 2], made.words[4 * i + 3]}};
            if (from_registers) {
                store(out + row * output.step_y + output.element_offset[i], words);
            } else {
                store(staged + row * kStageRow + (output.group_size == 1 ? 512 * i : 16 * i), words);
            }
        }
    }
}

/// Step 2, after all threads of the warp have done step 1: stores what is in shared memory.
template <Element kElement>
TRICODEC_KERNEL void convert_store(const ConvertArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                   const unsigned char* stage) {
    constexpr int kPixels = ConvertWords<kElement>::kPixels;
    if (stores_from_registers(args)) return;
    const int lane = thread % 32;
    const ConvertUnit unit = convert_unit<kPixels>(args, segment, group, thread / 32);
    const OutputArgs& output = args.output;
    const int pixel_bytes = output.group_size * (16 / kPixels);
    const int num_bytes = (unit.end - unit.begin) * pixel_bytes;
    unsigned char* const out = frame.out + unit.y * output.step_y + unit.begin * output.step_x;
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (unit.y + row < 0 || unit.y + row >= args.grid_height) continue;
        unsigned char* const to = out + row * output.step_y;
        const unsigned char* const from = stage + row * kStageRow;
        if (args.aligned != 0 && args.full_width != 0) {  // one group of three
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
