// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/color_steps.h"
#include "image/cuda/direct_chroma.h"
#include "image/cuda/direct_samples.h"
#include "image/cuda/half_pairs.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

/// docs/transform.md 5.2 for integers that are multiples of P. Luma comes as 2 P or 4 P, a sample of 8 bits as it is;
/// sums are 2^20 or 2^21 times the result. Samples of 16 bits come as P, and sums are 2^19 times the result.
struct DirectColor {
    std::int32_t luma_2p[3];    ///< by channel, for what makes 2 P
    std::int32_t luma_4p[3];    ///< for what makes 4 P, or for P
    std::int32_t chroma[3][2];  ///< of 2 V, or of what makes 4 P, or of P
    std::int32_t bias[3];       ///< with a sum of 2 P, half chroma; of 4 P, full chroma; of P
};

/// How the channels of a thread's pixels stand in its twelve words: side by side as in memory, or four words a channel.
template <Element kElement>
struct DirectWords {
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

/// Integer channels of four pixels of a row from half as many chroma columns. What the chroma of a column adds to a
/// channel is computed once: `before` has it for the fours' first column on entry, for the next four's on return.
template <class Luma, class Chroma>
TRICODEC_KERNEL void make_bytes_of_half(const DirectColor& color, const Luma& luma, const Chroma& chroma, int row,
                                        int four, std::int32_t (&before)[3], std::int32_t (&v)[3][4]) {
    TRICODEC_UNROLL
    for (int pair = 0; pair < 2; ++pair) {
        const int pixel = 4 * four + 2 * pair;
        const std::uint32_t next = chroma.v[row][pixel / 2 + 1];
        const auto a = static_cast<std::int32_t>(next & 0xFFFFU);
        const auto b = static_cast<std::int32_t>(next >> 16);
        const std::int32_t first = luma.integer(pixel, true);
        const std::int32_t second = luma.integer(pixel + 1, false);
        for (int c = 0; c < 3; ++c) {
            const std::int32_t after = color.chroma[c][1] * b + (color.chroma[c][0] * a + color.bias[c]);
            v[c][2 * pair] = (first * color.luma_2p[c] + before[c]) >> 20;
            v[c][2 * pair + 1] = (second * color.luma_4p[c] + (before[c] + after)) >> 21;
            before[c] = after;
        }
    }
}

template <class Chroma>
TRICODEC_KERNEL void begin_half(const DirectColor& color, const Chroma& chroma, int row, std::int32_t (&before)[3]) {
    const auto a = static_cast<std::int32_t>(chroma.v[row][0] & 0xFFFFU);
    const auto b = static_cast<std::int32_t>(chroma.v[row][0] >> 16);
    for (int c = 0; c < 3; ++c) before[c] = color.chroma[c][1] * b + (color.chroma[c][0] * a + color.bias[c]);
}

/// The same where every pixel has its own chroma, or a mean of it.
template <class Luma, class Chroma>
TRICODEC_KERNEL void make_bytes_of_full(const DirectColor& color, const Luma& luma, const Chroma& chroma, int row,
                                        int four, std::int32_t (&v)[3][4]) {
    for (int i = 0; i < 4; ++i) {
        const std::int32_t y = luma.integer(4 * four + i, false);
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
TRICODEC_KERNEL void make_row(const DirectColor& direct, const ColorArgs& color, const Luma& luma, const Chroma& chroma,
                              int row, bool side_by_side, DirectWords<kElement>& words) {
    constexpr int kFours = DirectWords<kElement>::kPixels / 4;
    if constexpr (kElement == Element::uint8) {
        std::int32_t before[3];
        if constexpr (Chroma::kHalf) begin_half(direct, chroma, row, before);
        TRICODEC_UNROLL
        for (int four = 0; four < kFours; ++four) {
            std::int32_t v[3][4] = {};
            if constexpr (Chroma::kHalf) {
                make_bytes_of_half(direct, luma, chroma, row, four, before, v);
            } else {
                make_bytes_of_full(direct, luma, chroma, row, four, v);
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

}  // namespace tricodec::image::gpu
