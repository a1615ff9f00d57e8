// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/direct_chroma.h"
#include "image/cuda/direct_samples.h"
#include "image/cuda/half_pairs.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// From samples to elements, for whole_kernel.h.
//
// Note [Bytes by floats]: with Y - offset and a quarter of V (of half columns an eighth) as whole numbers, a sum of 5.2
// is a whole number of 1/65536. Luma's part is a multiple of 8/65536 below 512, green's chroma alone is below 256, and
// the sum of two columns' below 512 in twice the unit: all are exact in 24 bits. The one addition left rounds only what
// is 256 or more, or -256 or less, and that is clamped anyway. Everything is kept times kFloorUnit: bytes are
// floats as they are, numbers of 2^-149, and so are results, so that nothing is converted.

/// How channels stand in memory; the last two are TensorRT's, for elements of 16 bits.
enum class WholeLayout : std::int32_t {
    chw,   ///< a plane each
    hwc,   ///< side by side
    chw2,  ///< the first two side by side, the third beside a zero
    hwc8,  ///< the three and five zeros
};

/// Constants for the units that samples are in here: luma as WholeSamples gives it, chroma as quarters of V's unit.
struct WholeColor {
    float luma_zero;  ///< 2^23 + the offset
    float chroma_zero;
    float luma[3];            ///< by channel; of bytes the first one's for all
    float chroma_even[3][2];  ///< [channel][component], for columns that have their own chroma
    float chroma_odd[3][2];   ///< for sums of two columns
    float bias[3];            ///< of bytes the first one's for all: what rounds, less the offset's part
    float low[3];
    float high[3];
    std::uint32_t low_pair[3];  ///< the same in 16 bits, for the pairs of elements that follow one another in memory
    std::uint32_t high_pair[3];
};

/// Elements of a thread's row, in the order of memory, without the last two words of HWC8's pixels.
template <Element kElement, WholeLayout kLayout>
struct WholeWords {
    static constexpr bool kSideBySide = kLayout == WholeLayout::hwc;
    static constexpr bool kPadded = kLayout == WholeLayout::chw2 || kLayout == WholeLayout::hwc8;
    static constexpr int kPixels = kElement == Element::uint8 ? 16 : kElement == Element::float32 || kPadded ? 4 : 8;
    static constexpr int kWords = kPadded ? 8 : 12;
    std::uint32_t words[kWords];

    /// Four pixels: of bytes as pack_floors() takes them, else floats that are clamped here.
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

/// What two pixels have in common: chroma minus the offset of the first one's column, and of both that the second one
/// is half way between.
struct WholeChromas {
    float here[2];
    float sum[2];  ///< in half the unit, but of 16 bits
    float green;   ///< of bytes: what `here` adds to green
    float greens;  ///< of bytes: twice what `sum` adds
};

/// The channels of two pixels: of bytes times kFloorUnit, before floors are taken.
template <Element kElement, class Luma>
TRICODEC_KERNEL void make_two_rgb(const WholeColor& color, const Luma& luma, int pixel, const WholeChromas& chroma,
                                  float (&v)[3][4], int place) {
    const float (&even)[3][2] = color.chroma_even;
    const float (&odd)[3][2] = color.chroma_odd;
    if constexpr (kElement == Element::uint8) {
        const float first = fused(luma.tiny(pixel), color.luma[0], color.bias[0]);
        const float second = fused(luma.tiny(pixel + 1), color.luma[0], color.bias[0]);
        v[0][place] = fused(chroma.here[1], even[0][1], first);
        v[0][place + 1] = fused(chroma.sum[1], odd[0][1], second);
        v[1][place] = add(first, chroma.green);
        v[1][place + 1] = fused(chroma.greens, 0.5F, second);
        v[2][place] = fused(chroma.here[0], even[2][0], first);
        v[2][place + 1] = fused(chroma.sum[0], odd[2][0], second);
    } else {
        TRICODEC_UNROLL
        for (int i = 0; i < 2; ++i) {
            const float y = add(luma.raised(pixel + i), -color.luma_zero);
            const float (&factor)[3][2] = i == 0 ? even : odd;
            const float a = i == 0 ? chroma.here[0] : chroma.sum[0];
            const float b = i == 0 ? chroma.here[1] : chroma.sum[1];
            v[0][place + i] = add(add(multiply(y, color.luma[0]), multiply(b, factor[0][1])), color.bias[0]);
            v[1][place + i] =
                add(add(add(multiply(y, color.luma[1]), multiply(a, factor[1][0])), multiply(b, factor[1][1])),
                    color.bias[1]);
            v[2][place + i] = add(add(multiply(y, color.luma[2]), multiply(a, factor[2][0])), color.bias[2]);
        }
    }
}

/// A thread's row.
template <int kBits, Element kElement, WholeLayout kLayout, class Luma, class Chroma>
TRICODEC_KERNEL void make_whole_row(const WholeColor& color, const ChromaDots& dots, const Luma& luma,
                                    const Chroma& chroma, int row, WholeWords<kElement, kLayout>& made) {
    const auto green_of = [&](const float (&column)[2]) {
        return fused(column[1], color.chroma_even[1][1], multiply(column[0], color.chroma_even[1][0]));
    };
    float next[2];
    TRICODEC_UNROLL
    for (int i = 0; i < 2; ++i) next[i] = add(chroma.raised(row, 0, i, dots), -color.chroma_zero);
    float next_green = green_of(next);
    TRICODEC_UNROLL
    for (int four = 0; four < WholeWords<kElement, kLayout>::kPixels / 4; ++four) {
        float v[3][4];
        TRICODEC_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            const int pixel = 4 * four + 2 * pair;
            WholeChromas both;
            both.green = next_green;
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) {
                both.here[i] = next[i];
                next[i] = add(chroma.raised(row, pixel / 2 + 1, i, dots), -color.chroma_zero);
                if constexpr (kBits == 16) {
                    both.sum[i] = add(above_2_23(chroma.pair_of(row, pixel + 1), i), -color.chroma_zero);
                } else {
                    both.sum[i] = add(both.here[i], next[i]);
                }
            }
            next_green = green_of(next);
            both.greens = add(both.green, next_green);
            make_two_rgb<kElement>(color, luma, pixel, both, v, 2 * pair);
        }
        made.put(color, v, four);
    }
}

}  // namespace tricodec::image::gpu
