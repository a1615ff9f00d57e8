// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/shifted_words.h"

namespace tricodec::image::gpu {

// Samples of a thread's pixels for direct_kernel.h: two rows of the grid, the first of which is an even luma row. kBits
// says what the words of a picture hold:
//   8   bytes;
//   10  words of 16 bits, 10 of them significant;
//   16  words of 16 bits, 11 or more significant: those of 16 after a shift, which changes neither V nor P.
// With 8 or 10 bits and taps of whole quarters nothing is rounded: V is s << (14 - d) or the sum of two rows in
// quarters, a multiple of 16 >> (d - 8), and half of the sum of two V is whole. So 2 V <= 32736 and 4 P <= 65472 hold
// two components in one word of 32 bits, and one multiplication serves both. With 16 bits V is a rounded sum, and half
// of the sum of two V is rounded too; V and P are at most 16384, two of them in a word.

enum class Chroma : std::int32_t {
    none,         ///< no channel needs it
    half_pairs,   ///< half the width, components side by side
    half_planes,  ///< half the width, a plane each
    full_pairs,   ///< as wide as luma
    full_planes,
};

struct SamplesArgs {
    Chroma chroma;
    std::int32_t aligned;     ///< planes and strides of every frame are multiples of 16 bytes
    std::int32_t stored_up;   ///< of 10 bits: unused low bits of a stored sample, 0 or 6
    std::int32_t to_top;      ///< of 16 bits: what shifts significant bits up to the top of their word,
    std::uint32_t mask;       ///< and those bits then, in both halves
    std::uint32_t neutral;    ///< stored samples of no color, as many as a word holds
    std::int32_t luma_begin;  ///< columns of the crop; nothing else is read
    std::int32_t luma_end;
    std::int32_t chroma_begin;
    std::int32_t chroma_end;
};

constexpr int bytes_of(int bits) {
    return bits == 8 ? 1 : 2;
}

TRICODEC_KERNEL std::uint32_t load_sample(const unsigned char* row, int number, int sample_bytes) {
    if (sample_bytes == 1) return row[number];
    return row[2 * number] | std::uint32_t{row[2 * number + 1]} << 8;
}

TRICODEC_KERNEL int clamp_to(int value, int begin, int end) {
    return value < begin ? begin : value >= end ? end - 1 : value;
}

/// kCount samples as they are stored, samples of the crop only: those beyond repeat the last one inside.
template <int kSampleBytes, int kCount>
TRICODEC_KERNEL void load_samples(const unsigned char* row, int first, int begin, int end, bool whole,
                                  std::uint32_t (&words)[kCount * kSampleBytes / 4]) {
    if (whole) return load_words(row + first * kSampleBytes, words);
    constexpr int kInWord = 4 / kSampleBytes;
    TRICODEC_UNROLL
    for (int i = 0; i < kCount / kInWord; ++i) {
        std::uint32_t word = 0;
        for (int k = 0; k < kInWord; ++k) {
            const int at = clamp_to(first + i * kInWord + k, begin, end);
            word |= load_sample(row, at, kSampleBytes) << (8 * kSampleBytes * k);
        }
        words[i] = word;
    }
}

TRICODEC_KERNEL const unsigned char* row_of(const FrameArgs& frame, int plane, int row) {
    return frame.planes[plane] + static_cast<std::int64_t>(row) * frame.strides[plane];
}

/// Two samples of 16 bits as 4 P, whatever their unused bits.
TRICODEC_KERNEL std::uint32_t words_as_4p(std::uint32_t pair, int stored_up) {
    return (pair << (6 - stored_up)) & 0xFFC0FFC0U;
}

/// Two samples of 16 bits with their significant bits on top.
TRICODEC_KERNEL std::uint32_t on_top(std::uint32_t pair, const SamplesArgs& args) {
    return pair << args.to_top & args.mask;
}

/// Two of those as P: (s + 2) >> 2, in a way that needs no seventeenth bit.
TRICODEC_KERNEL std::uint32_t words_as_p(std::uint32_t pair) {
    return (pair >> 2 & 0x3FFF3FFFU) + (pair >> 1 & 0x00010001U);
}

inline constexpr float kTwo23 = 8388608.0F;

/// 2^23 + n is the float whose bits are n below those of 2^23: integers become floats without a conversion.
TRICODEC_KERNEL float above_2_23(std::uint32_t pair, int half) {
    return float_of_bits(permute(pair, 0x4B00U, half == 0 ? 0x5410 : 0x5432));
}

/// One row of one component.
template <int kBits, int kPixels>
struct RowSamples {
    static constexpr int kSampleBytes = bytes_of(kBits);
    static constexpr int kWords = kPixels * kSampleBytes / 4;
    static constexpr int kDownToBytes = kBits == 16 ? 19 : 21;  ///< bits below a byte in a sum of integer()

    std::uint32_t words[kWords];  ///< as stored; after settle() of 10 bits 4 P, of 16 bits P

    TRICODEC_KERNEL void settle(const SamplesArgs& args) {
        for (std::uint32_t& pair : words) {
            if constexpr (kBits == 10) pair = words_as_4p(pair, args.stored_up);
            if constexpr (kBits == 16) pair = words_as_p(on_top(pair, args));
        }
    }

    /// Pixel i: of 8 bits as it is, of 10 bits 4 P (2 P if `halved`), of 16 bits P.
    TRICODEC_KERNEL std::int32_t integer(int i, bool halved) const {
        if constexpr (kBits == 8) {
            return static_cast<std::int32_t>(permute(words[i / 4], 0, 0x4440U + static_cast<unsigned>(i % 4)));
        } else {
            const std::uint32_t pair = words[i / 2];
            const std::uint32_t sample = i % 2 == 0 ? pair & 0xFFFFU : pair >> 16;
            return static_cast<std::int32_t>(halved ? sample >> 1 : sample);
        }
    }

    /// Pixel i above 2^23, of 8 bits as it is, of 10 bits 4 P, of 16 bits P.
    TRICODEC_KERNEL float raised(int i) const {
        if constexpr (kBits == 8) {
            return float_of_bits(permute(words[i / 4], 0x4B000000U, 0x7440U + static_cast<unsigned>(i % 4)));
        } else {
            return above_2_23(words[i / 2], i % 2);
        }
    }

    /// Pixel i of 8 bits times 2^-149: integers are floats of their own bits.
    TRICODEC_KERNEL float tiny(int i) const {
        static_assert(kBits == 8);
        return float_of_bits(permute(words[i / 4], 0, 0x4440U + static_cast<unsigned>(i % 4)));
    }

    /// Pixel i: P minus the offset.
    TRICODEC_KERNEL float centered(int i, float offset) const {
        constexpr float kUnit = kBits == 8 ? 64.0F : kBits == 10 ? 0.25F : 1.0F;
        return multiply_add_exact(raised(i), kUnit, -(kTwo23 * kUnit + offset));
    }
};

}  // namespace tricodec::image::gpu
