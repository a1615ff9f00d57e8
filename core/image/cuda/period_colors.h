// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/half_pairs.h"
#include "image/cuda/period_args.h"

namespace tricodec::image::gpu {

// From P minus the offsets to elements, for period_kernel.h.

/// A small integer as a float, without the few units that convert.
TRICODEC_KERNEL float small_float(std::int32_t value) {
    constexpr float kMiddle = 12582912.0F;  // 1.5 * 2^23: its last place is 1
    return add(float_of_bits(static_cast<std::uint32_t>(value) + 0x4B400000U), -kMiddle);
}

/// A lane, and which ones of its warp have points.
struct PeriodLane {
    int number;
    std::uint32_t active;
};

/// A thread's points as they are stored: each channel's, or side by side.
template <Element kElement>
struct PeriodWords {
    static constexpr int kBytes = kElement == Element::uint8 ? 1 : kElement == Element::float32 ? 4 : 2;
    static constexpr int kChannelWords = kPeriodPoints * kBytes / 4;

    /// Of bytes before they are clamped, else floats' bits, of float32 clamped.
    std::uint32_t values[3][kPeriodPoints];

    TRICODEC_KERNEL void put(const PeriodColor& color, int point, std::int32_t y, std::int32_t u, std::int32_t v) {
        if constexpr (kElement == Element::uint8) {
            const std::int32_t luma = y * color.fixed_luma + (1 << 18);
            const std::int32_t red = v * color.fixed_chroma[0][1] + luma;
            const std::int32_t green = u * color.fixed_chroma[1][0] + (v * color.fixed_chroma[1][1] + luma);
            const std::int32_t blue = u * color.fixed_chroma[2][0] + luma;
            values[0][point] = static_cast<std::uint32_t>(red >> 19);
            values[1][point] = static_cast<std::uint32_t>(green >> 19);
            values[2][point] = static_cast<std::uint32_t>(blue >> 19);
        } else {
            const float a = small_float(y);
            const float b = small_float(u);
            const float c = small_float(v);
            const float (&factor)[3][3] = color.factor;
            const float made[3] = {
                add(add(multiply(a, factor[0][0]), multiply(c, factor[0][2])), color.bias[0]),
                add(add(add(multiply(a, factor[1][0]), multiply(b, factor[1][1])), multiply(c, factor[1][2])),
                    color.bias[1]),
                add(add(multiply(a, factor[2][0]), multiply(b, factor[2][1])), color.bias[2])};
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) {
                constexpr bool kNow = kElement == Element::float32 || !kClampsPairs;
                values[i][point] = bits_of_float(kNow ? clamp(made[i], color.low[i], color.high[i]) : made[i]);
            }
        }
    }

    /// To where the channels begin, multiples of 8 (of bytes) or 16.
    TRICODEC_KERNEL void store_all(const PeriodArgs& args, unsigned char* to, const PeriodLane& lane) const {
        if (args.side_by_side != 0) {
            std::uint32_t words[3 * kChannelWords];
            TRICODEC_UNROLL
            for (int i = 0; i < 3 * kChannelWords; ++i) words[i] = word<true>(args.color, 0, i);
            store_words(to, words, lane);
            return;
        }
        TRICODEC_UNROLL
        for (int channel = 0; channel < 3; ++channel) {
            std::uint32_t words[kChannelWords];
            TRICODEC_UNROLL
            for (int i = 0; i < kChannelWords; ++i) words[i] = word<false>(args.color, channel, i);
            store_words(to + args.channel_offset[channel], words, lane);
        }
    }

private:
    /// Element `number` of a channel, or of all.
    template <bool kSideBySide>
    TRICODEC_KERNEL std::uint32_t value(int channel, int number) const {
        return kSideBySide ? values[number % 3][number / 3] : values[channel][number];
    }

    template <bool kSideBySide>
    TRICODEC_KERNEL std::uint32_t word(const PeriodColor& color, int channel, int i) const {
        if constexpr (kElement == Element::uint8) {
            const auto at = [&](int k) { return static_cast<std::int32_t>(value<kSideBySide>(channel, 4 * i + k)); };
            return pack_bytes(at(0), at(1), at(2), at(3));
        } else if constexpr (kElement == Element::float32) {
            return value<kSideBySide>(channel, i);
        } else {
            const float a = float_of_bits(value<kSideBySide>(channel, 2 * i));
            const float b = float_of_bits(value<kSideBySide>(channel, 2 * i + 1));
            const int bounds = kSideBySide ? i % 3 : channel;
            if constexpr (kElement == Element::float16) {
                return clamp_half_pair(half_pair(a, b), color.low_pair[bounds], color.high_pair[bounds]);
            }
            return clamp_bfloat_pair(bfloat_pair(a, b), color.low_pair[bounds], color.high_pair[bounds]);
        }
    }

    /// The next lane's words follow.
    template <int kCount>
    TRICODEC_KERNEL static void store_words(unsigned char* to, const std::uint32_t (&words)[kCount],
                                            [[maybe_unused]] const PeriodLane& lane) {
#if defined(__CUDA_ARCH__)
        constexpr bool kExchanged = kElement == Element::float32;
#else
        constexpr bool kExchanged = false;
#endif
        if constexpr (kExchanged) {
            store_sectors(to, words, lane);
        } else if constexpr (kElement == Element::uint8) {
            TRICODEC_UNROLL
            for (int i = 0; i < kCount; i += 2) store(to + 4 * i, Words2{{words[i], words[i + 1]}});
        } else {
            TRICODEC_UNROLL
            for (int i = 0; i < kCount; i += 4) store(to + 4 * i, four_of(words, i));
        }
    }

    template <int kCount>
    TRICODEC_KERNEL static Words4 four_of(const std::uint32_t (&words)[kCount], int i) {
        return {{words[i], words[i + 1], words[i + 2], words[i + 3]}};
    }

#if defined(__CUDACC__)
    /// The same where two stores of 16 bytes fill a sector of 32: two lanes exchange halves, so that they fill each
    /// sector at once. Half a sector costs the L2 cache as much as a whole one.
    template <int kCount>
    __device__ __forceinline__ static void store_sectors(unsigned char* to, const std::uint32_t (&words)[kCount],
                                                         const PeriodLane& lane) {
        const bool odd = lane.number % 2 != 0;
        const bool alone = (lane.active >> (lane.number ^ 1) & 1) == 0;
        unsigned char* const first = odd ? to - 4 * kCount : to;
        TRICODEC_UNROLL
        for (int i = 0; i < kCount; i += 8) {
            const Words4 low = four_of(words, i);
            const Words4 high = four_of(words, i + 4);
            Words4 a = low;
            Words4 b = high;
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) {
                const std::uint32_t other = __shfl_xor_sync(lane.active, odd ? low.w[k] : high.w[k], 1);
                a.w[k] = odd ? other : low.w[k];
                b.w[k] = odd ? high.w[k] : other;
            }
            if (alone) {
                store(to + 4 * i, low);
                store(to + 4 * i + 16, high);
            } else {
                const int half = odd ? 16 : 0;
                store(first + 4 * i + half, a);
                store(first + 4 * (kCount + i) + half, b);
            }
        }
    }
#endif
};

}  // namespace tricodec::image::gpu
