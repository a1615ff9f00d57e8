// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/direct_samples.h"
#include "image/cuda/half_pairs.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// The kernel for what decoders and models exchange most: whole aligned pictures of 8 or 10 bits with half as many
// chroma columns as luma's, to RGB. It does what direct_kernel.h does with fewer instructions: nothing is at an edge
// but the repeated chroma rows, red needs no U and blue no V, and all arithmetic is in floats, which a GPU has twice as
// many units for as for integers.
//
// Note [Bytes by floats]: with Y - offset and a quarter of V (of half columns an eighth) as whole numbers, a sum of 5.2
// is a whole number of 1/65536. Luma's part is a multiple of 8/65536 below 512, green's chroma alone is below 256: both
// are exact in 24 bits. The one addition left rounds only what is 256 or more, or -256 or less, and that is clamped
// anyway.

inline constexpr int kWholeWarps = 4;        ///< of a block, one below the other: they share chroma rows
inline constexpr int kWholeRows = 2;         ///< rows of the grid that a thread makes
inline constexpr int kWholeStage = 32 * 48;  ///< bytes of a warp's row while its pixels wait

/// How channels stand in memory; the last two are TensorRT's, for elements of 16 bits.
enum class WholeLayout : std::int32_t {
    chw,   ///< a plane each
    hwc,   ///< side by side
    chw2,  ///< the first two side by side, the third beside a zero
    hwc8,  ///< the three and five zeros
};

/// Whether a warp's pixels wait in shared memory, to go out in words that are side by side too.
constexpr bool is_staged(WholeLayout layout) {
    return layout == WholeLayout::hwc || layout == WholeLayout::hwc8;
}

/// Constants for the units that samples are in here: luma as WholeSamples gives it, chroma as quarters of V's unit.
struct WholeColor {
    float luma_zero;  ///< 2^23 + the offset
    float chroma_zero;
    float luma[3];            ///< by channel
    float chroma_even[3][2];  ///< [channel][component], for columns that have their own chroma
    float chroma_odd[3][2];   ///< for sums of two columns
    float bias[3];            ///< of bytes: what rounds
    float low[3];
    float high[3];
    std::uint32_t low_pair[3];  ///< the same in 16 bits, for the pairs of elements that follow one another in memory
    std::uint32_t high_pair[3];
};

struct WholeArgs {
    SamplesArgs samples;
    std::int32_t grid_width;  ///< a multiple of a thread's pixels
    std::int32_t grid_height;
    std::int32_t chroma_left;   ///< chroma column of grid column 0
    std::int32_t channel[3];    ///< the output's channels that are red, green and blue
    std::int32_t chroma_first;  ///< the row between the first two rows of the grid
    std::int32_t chroma_step;   ///< to that of the next two
    std::int32_t chroma_above;  ///< from it to the other row that the first one of two is made from: 0 or -1
    std::int32_t chroma_row_begin;
    std::int32_t chroma_row_end;
    std::uint32_t chroma_weight[2][2];  ///< in quarters, as ChromaRows has them
    std::int64_t step_y;
    std::int64_t channel_offset[3];
    WholeColor color;
    FrameArgs frames[kMaxFrames];  ///< luma begins with the crop's first sample, chroma with the picture's
};

/// Elements of a thread's row, in the order of memory, without the last two words of HWC8's pixels.
template <Element kElement, WholeLayout kLayout>
struct WholeWords {
    static constexpr bool kSideBySide = kLayout == WholeLayout::hwc;
    static constexpr bool kPadded = kLayout == WholeLayout::chw2 || kLayout == WholeLayout::hwc8;
    static constexpr int kPixels = kElement == Element::uint8 ? 16 : kElement == Element::float32 || kPadded ? 4 : 8;
    static constexpr int kWords = kPadded ? 8 : 12;
    std::uint32_t words[kWords];

    /// Four pixels of floats that are clamped and stored as they are, or in 16 bits.
    TRICODEC_KERNEL void put(const WholeColor& color, const float (&v)[3][4], int four) {
        if constexpr (kElement == Element::uint8) {
            if constexpr (kSideBySide) {
                words[3 * four] = pack_floors(v[0][0], v[1][0], v[2][0], v[0][1]);
                words[3 * four + 1] = pack_floors(v[1][1], v[2][1], v[0][2], v[1][2]);
                words[3 * four + 2] = pack_floors(v[2][2], v[0][3], v[1][3], v[2][3]);
            } else {
                TRICODEC_UNROLL
                for (int c = 0; c < 3; ++c) words[4 * c + four] = pack_floors(v[c][0], v[c][1], v[c][2], v[c][3]);
            }
        } else if constexpr (kElement == Element::float32) {
            TRICODEC_UNROLL
            for (int c = 0; c < 3; ++c) {
                TRICODEC_UNROLL
                for (int i = 0; i < 4; ++i) {
                    words[kSideBySide ? 3 * i + c : 4 * c + i] =
                        bits_of_float(clamp(v[c][i], color.low[c], color.high[c]));
                }
            }
        } else if constexpr (kPadded) {
            TRICODEC_UNROLL
            for (int i = 0; i < 4; ++i) {
                words[kLayout == WholeLayout::chw2 ? i : 2 * i] = pair(color, 0, 0, v[0][i], 1, v[1][i]);
                words[kLayout == WholeLayout::chw2 ? 4 + i : 2 * i + 1] = alone(color, 2, v[2][i]);
            }
        } else if constexpr (kSideBySide) {
            TRICODEC_UNROLL
            for (int i = 0; i < 6; ++i) {
                words[6 * four + i] = pair(color, i % 3, 2 * i % 3, v[2 * i % 3][2 * i / 3], (2 * i + 1) % 3,
                                           v[(2 * i + 1) % 3][(2 * i + 1) / 3]);
            }
        } else {
            TRICODEC_UNROLL
            for (int i = 0; i < 6; ++i) {
                words[4 * (i / 2) + 2 * four + i % 2] =
                    pair(color, i / 2, i / 2, v[i / 2][2 * (i % 2)], i / 2, v[i / 2][2 * (i % 2) + 1]);
            }
        }
    }

private:
    /// Rounding keeps order, so that clamping may come after it, where one instruction does two.
    TRICODEC_KERNEL static std::uint32_t pair(const WholeColor& color, int bounds, int channel_a, float a,
                                              int channel_b, float b) {
        if constexpr (!kClampsPairs) {
            a = clamp(a, color.low[channel_a], color.high[channel_a]);
            b = clamp(b, color.low[channel_b], color.high[channel_b]);
        }
        if constexpr (kElement == Element::float16) {
            return clamp_half_pair(half_pair(a, b), color.low_pair[bounds], color.high_pair[bounds]);
        }
        return clamp_bfloat_pair(bfloat_pair(a, b), color.low_pair[bounds], color.high_pair[bounds]);
    }

    /// A channel and the zero beside it.
    TRICODEC_KERNEL static std::uint32_t alone(const WholeColor& color, int channel, float value) {
        const float clamped = clamp(value, color.low[channel], color.high[channel]);
        return kElement == Element::float16 ? half_pair(clamped, 0.0F) : bfloat_pair(clamped, 0.0F);
    }
};

/// The channels of a pixel from its luma and chroma minus the offsets; of bytes the floors, as add_down leaves them.
template <Element kElement>
TRICODEC_KERNEL void make_rgb(const WholeColor& color, const float (&factor)[3][2], float y, float a, float b,
                              float& red, float& green, float& blue) {
    if constexpr (kElement == Element::uint8) {
        const float luma = fused(y, color.luma[0], color.bias[0]);
        const float both = fused(b, factor[1][1], multiply(a, factor[1][0]));
        red = add_down(fused(b, factor[0][1], luma), kFloorsFrom);
        green = add_down(add(luma, both), kFloorsFrom);
        blue = add_down(fused(a, factor[2][0], luma), kFloorsFrom);
    } else {
        red = add(add(multiply(y, color.luma[0]), multiply(b, factor[0][1])), color.bias[0]);
        green = add(add(add(multiply(y, color.luma[1]), multiply(a, factor[1][0])), multiply(b, factor[1][1])),
                    color.bias[1]);
        blue = add(add(multiply(y, color.luma[2]), multiply(a, factor[2][0])), color.bias[2]);
    }
}

/// A thread's row.
template <Element kElement, WholeLayout kLayout, class Luma, class Chroma>
TRICODEC_KERNEL void make_whole_row(const WholeColor& color, const Luma& luma, const Chroma& chroma, int row,
                                    WholeWords<kElement, kLayout>& made) {
    float a = add(above_2_23(chroma.v[row][0], 0), -color.chroma_zero);
    float b = add(above_2_23(chroma.v[row][0], 1), -color.chroma_zero);
    TRICODEC_UNROLL
    for (int four = 0; four < WholeWords<kElement, kLayout>::kPixels / 4; ++four) {
        float v[3][4];
        TRICODEC_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            const int pixel = 4 * four + 2 * pair;
            const std::uint32_t next = chroma.v[row][pixel / 2 + 1];
            const float next_a = add(above_2_23(next, 0), -color.chroma_zero);
            const float next_b = add(above_2_23(next, 1), -color.chroma_zero);
            make_rgb<kElement>(color, color.chroma_even, add(luma.raised(pixel), -color.luma_zero), a, b,
                               v[0][2 * pair], v[1][2 * pair], v[2][2 * pair]);
            make_rgb<kElement>(color, color.chroma_odd, add(luma.raised(pixel + 1), -color.luma_zero), add(a, next_a),
                               add(b, next_b), v[0][2 * pair + 1], v[1][2 * pair + 1], v[2][2 * pair + 1]);
            a = next_a;
            b = next_b;
        }
        made.put(color, v, four);
    }
}

/// What a warp makes: 32 threads' pixels of two rows.
struct WholeUnit {
    int x;
    int y;
};

template <int kPixels>
TRICODEC_KERNEL WholeUnit whole_unit(int segment, int group, int thread) {
    return {(segment * 32 + thread % 32) * kPixels, (group * kWholeWarps + thread / 32) * kWholeRows};
}

/// Where pixel `number` of a warp's row waits in shared memory: HWC8's have eight bytes, and eight more after each four
/// keep the threads of a half warp on banks of their own.
TRICODEC_KERNEL int hwc8_place(int number) {
    return number / 4 * 40 + number % 4 * 8;
}

/// A thread's row, to global memory at `to` or to shared memory.
template <Element kElement, WholeLayout kLayout>
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
        } else {
            store(to + args.channel_offset[i], words);
        }
    }
}

/// Step 1: a thread's pixels, to global memory or to the warp's shared memory.
template <int kSampleBytes, Element kElement, WholeLayout kLayout, template <int, int> class Chroma>
TRICODEC_KERNEL void whole_pixels(const WholeArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                  unsigned char* stage) {
    constexpr int kPixels = WholeWords<kElement, kLayout>::kPixels;
    const WholeUnit unit = whole_unit<kPixels>(segment, group, thread);
    if (unit.x >= args.grid_width || unit.y >= args.grid_height) return;
    const bool two = unit.y + 1 < args.grid_height;

    RowSamples<kSampleBytes, kPixels> luma[2];
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        load_words(row_of(frame, 0, row == 0 || two ? unit.y + row : unit.y) + unit.x * kSampleBytes, luma[row].words);
    }
    Chroma<kSampleBytes, kPixels> chroma;
    const int middle = args.chroma_first + unit.y / 2 * args.chroma_step;
    const int above = middle + args.chroma_above;
    chroma.load_whole(frame, args.samples, args.chroma_left + unit.x / 2,
                      above < args.chroma_row_begin ? args.chroma_row_begin : above, middle,
                      middle + 1 < args.chroma_row_end ? middle + 1 : args.chroma_row_end - 1);
    chroma.settle(args.samples, args.chroma_weight);
    for (auto& row : luma) row.settle(args.samples);

    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        WholeWords<kElement, kLayout> made;
        make_whole_row(args.color, luma[row], chroma, row, made);
        if (row == 1 && !two) break;
        unsigned char* const to = frame.out + (unit.y + row) * args.step_y + unit.x * static_cast<int>(16 / kPixels);
        put_whole_row(args, made, to, stage + row * kWholeStage, thread % 32);
    }
}

/// Step 2 for pixels that wait, when all of the warp have done step 1.
template <Element kElement, WholeLayout kLayout>
TRICODEC_KERNEL void whole_store(const WholeArgs& args, const FrameArgs& frame, int segment, int group, int thread,
                                 const unsigned char* stage) {
    constexpr int kPixels = WholeWords<kElement, kLayout>::kPixels;
    constexpr int kPixelBytes = kLayout == WholeLayout::hwc8 ? 16 : 48 / kPixels;
    const WholeUnit first = whole_unit<kPixels>(segment, group, thread / 32 * 32);
    const int pixels = args.grid_width - first.x < 32 * kPixels ? args.grid_width - first.x : 32 * kPixels;
    TRICODEC_UNROLL
    for (int row = 0; row < 2; ++row) {
        if (first.y + row >= args.grid_height) break;
        unsigned char* const to = frame.out + (first.y + row) * args.step_y + first.x * kPixelBytes;
        TRICODEC_UNROLL
        for (int i = 0; i < kPixels * kPixelBytes / 16; ++i) {
            const int at = 16 * (thread % 32) + 512 * i;
            if (at >= pixels * kPixelBytes) continue;
            const unsigned char* const from = stage + row * kWholeStage;
            if constexpr (kLayout == WholeLayout::hwc8) {
                const auto two = load<Words2>(from + hwc8_place(at / 16));
                store(to + at, Words4{{two.w[0], two.w[1], 0, 0}});
            } else {
                store(to + at, load<Words4>(from + at));
            }
        }
    }
}

}  // namespace tricodec::image::gpu
