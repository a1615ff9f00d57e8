// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// Samples of a thread's pixels for direct_kernel.h: two rows of the grid, the first of which is an even luma row. With
// d = 8 or 10 significant bits and taps of whole quarters nothing is rounded: V is s << (14 - d) or the sum of two rows
// in quarters, a multiple of 16 >> (d - 8), and half of the sum of two V is whole. So 2 V <= 32736 and 4 P <= 65472
// hold two components in one word of 32 bits, and one multiplication serves both.

enum class Chroma : std::int32_t {
    none,         ///< no channel needs it
    half_pairs,   ///< half the width, components side by side
    half_planes,  ///< half the width, a plane each
    full_pairs,   ///< as wide as luma
    full_planes,
};

/// The chroma of two rows: the first is made of row[0] and row[1], the second of row[1] and row[2], with twice these
/// weights in V's unit.
struct alignas(16) ChromaRows {
    std::int32_t row[3];
    std::uint32_t weight[2][2];
    std::int32_t padding;
};

struct SamplesArgs {
    Chroma chroma;
    std::int32_t aligned;     ///< planes and strides of every frame are multiples of 16 bytes
    std::int32_t stored_up;   ///< words of 16 bits: unused low bits of a stored sample, 0 or 6
    std::uint32_t neutral;    ///< stored samples of no color, as many as a word holds
    std::int32_t luma_begin;  ///< columns of the crop; nothing else is read
    std::int32_t luma_end;
    std::int32_t chroma_begin;
    std::int32_t chroma_end;
};

TRICODEC_KERNEL std::uint32_t load_sample(const unsigned char* row, int number, int sample_bytes) {
    if (sample_bytes == 1) return row[number];
    return row[2 * number] | std::uint32_t{row[2 * number + 1]} << 8;
}

TRICODEC_KERNEL int clamp_to(int value, int begin, int end) {
    return value < begin ? begin : value >= end ? end - 1 : value;
}

/// kWords words of a row, in as few loads as there are.
template <int kWords>
TRICODEC_KERNEL void load_words(const unsigned char* from, std::uint32_t (&words)[kWords]) {
    if constexpr (kWords == 1) {
        words[0] = load<std::uint32_t>(from);
    } else if constexpr (kWords == 2) {
        const auto two = load<Words2>(from);
        words[0] = two.w[0];
        words[1] = two.w[1];
    } else {
        TRICODEC_UNROLL
        for (int i = 0; i < kWords / 4; ++i) {
            const auto four = load<Words4>(from + 16 * i);
            for (int k = 0; k < 4; ++k) words[4 * i + k] = four.w[k];
        }
    }
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

inline constexpr float kTwo23 = 8388608.0F;

/// 2^23 + n is the float whose bits are n below those of 2^23: integers become floats without a conversion.
TRICODEC_KERNEL float above_2_23(std::uint32_t pair, int half) {
    return float_of_bits(permute(pair, 0x4B00U, half == 0 ? 0x5410 : 0x5432));
}

/// One row of one component.
template <int kSampleBytes, int kPixels>
struct RowSamples {
    static constexpr int kWords = kPixels * kSampleBytes / 4;

    std::uint32_t words[kWords];  ///< as stored; after settle() words of 16 bits are 4 P

    TRICODEC_KERNEL void settle(const SamplesArgs& args) {
        if constexpr (kSampleBytes == 2) {
            for (std::uint32_t& pair : words) pair = words_as_4p(pair, args.stored_up);
        }
    }

    /// Pixel i: a byte as it is; of 16 bits 4 P, or 2 P if `halved`.
    TRICODEC_KERNEL std::int32_t integer(int i, bool halved) const {
        if constexpr (kSampleBytes == 1) {
            return static_cast<std::int32_t>(permute(words[i / 4], 0, 0x4440U + static_cast<unsigned>(i % 4)));
        } else {
            const std::uint32_t pair = words[i / 2];
            const std::uint32_t sample = i % 2 == 0 ? pair & 0xFFFFU : pair >> 16;
            return static_cast<std::int32_t>(halved ? sample >> 1 : sample);
        }
    }

    /// Pixel i above 2^23: a byte as it is; of 16 bits 4 P.
    TRICODEC_KERNEL float raised(int i) const {
        if constexpr (kSampleBytes == 1) {
            return float_of_bits(permute(words[i / 4], 0x4B000000U, 0x7440U + static_cast<unsigned>(i % 4)));
        } else {
            return above_2_23(words[i / 2], i % 2);
        }
    }

    /// Pixel i: P minus the offset.
    TRICODEC_KERNEL float centered(int i, float offset) const {
        if constexpr (kSampleBytes == 1) {
            return multiply_add_exact(raised(i), 64.0F, -(kTwo23 * 64.0F + offset));
        } else {
            return multiply_add_exact(raised(i), 0.25F, -(kTwo23 * 0.25F + offset));
        }
    }
};

/// Where a thread's pixels are in the source.
struct SamplesAt {
    std::int32_t column;   ///< of luma
    std::int32_t rows[2];  ///< of luma
    bool whole;            ///< all pixels are the crop's, and aligned
};

/// Both chroma components of two rows from half as many columns: column i is the chroma of pixel 2 i, the mean of i and
/// i + 1 that of pixel 2 i + 1. Loads come all before the first use, so that the memory is waited for once.
template <int kSampleBytes, int kPixels, bool kPlanes>
struct HalfChroma {
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = true;
    static constexpr int kColumns = kPixels / 2;
    static constexpr int kWords =
        kColumns * kSampleBytes / 2;  ///< of a row, both components; of planes first one's half

    ChromaRows of_pair;
    std::uint32_t words[3][kWords];    ///< as stored
    std::uint32_t beyond[3];           ///< the next column's two samples as stored
    std::uint32_t v[2][kColumns + 1];  ///< V in the unit that the weights give, the first component in the low half

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRows* pair,
                              const SamplesAt& at) {
        of_pair = gpu::load<ChromaRows>(pair);
        const int column = at.column / 2;
        if (at.whole) {
            const int last = clamp_to(column + kColumns, args.chroma_begin, args.chroma_end);
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) load_row(frame, of_pair.row[i], column, last, words[i], beyond[i]);
        } else {
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) load_part(frame, args, of_pair.row[i], column, words[i], beyond[i]);
        }
    }

    /// The same from three rows that are known, all of whose columns are the crop's and aligned.
    TRICODEC_KERNEL void load_whole(const FrameArgs& frame, const SamplesArgs& args, int column, int first, int second,
                                    int third) {
        const int last = column + kColumns < args.chroma_end ? column + kColumns : args.chroma_end - 1;
        load_row(frame, first, column, last, words[0], beyond[0]);
        load_row(frame, second, column, last, words[1], beyond[1]);
        load_row(frame, third, column, last, words[2], beyond[2]);
    }

    TRICODEC_KERNEL void settle(const SamplesArgs& args) { settle(args, of_pair.weight); }

    TRICODEC_KERNEL void settle(const SamplesArgs& args, const std::uint32_t (&weight)[2][2]) {
        std::uint32_t pairs[3][kColumns + 1];
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) {
            TRICODEC_UNROLL
            for (int k = 0; k < kColumns; ++k) pairs[i][k] = column_of(words[i], k, args.stored_up);
            pairs[i][kColumns] =
                kSampleBytes == 1 ? permute(beyond[i], 0, 0x4140) : significant(beyond[i], args.stored_up);
        }
        TRICODEC_UNROLL
        for (int k = 0; k <= kColumns; ++k) {
            v[0][k] = pairs[0][k] * weight[0][0] + pairs[1][k] * weight[0][1];
            v[1][k] = pairs[1][k] * weight[1][0] + pairs[2][k] * weight[1][1];
        }
    }

    /// P minus the offset of pixel i, from 2 V.
    TRICODEC_KERNEL float centered(int row, int i, int component, float offset) const {
        const std::uint32_t here = v[row][i / 2];
        if (i % 2 == 0) return multiply_add_exact(above_2_23(here, component), 0.5F, -(kTwo23 * 0.5F + offset));
        const float sum = above_2_23(here + v[row][i / 2 + 1], component);
        return multiply_add_exact(sum, 0.25F, -(kTwo23 * 0.25F + offset));
    }

private:
    /// Two words of 16 bits without their unused bits.
    TRICODEC_KERNEL static std::uint32_t significant(std::uint32_t pair, int stored_up) {
        return pair >> stored_up & 0x03FF03FFU;
    }

    /// Column k's two samples, 16 bits apart, d significant bits each.
    TRICODEC_KERNEL static std::uint32_t column_of(const std::uint32_t (&words)[kWords], int k, int stored_up) {
        const auto number = static_cast<unsigned>(k);
        if constexpr (kSampleBytes == 1 && !kPlanes) return permute(words[k / 2], 0, k % 2 == 0 ? 0x4140 : 0x4342);
        if constexpr (kSampleBytes == 2 && !kPlanes) return significant(words[k], stored_up);
        if constexpr (kSampleBytes == 1 && kColumns == 2) return words[0] >> (8 * number) & 0x00FF00FFU;
        if constexpr (kSampleBytes == 1) {
            return permute(words[k / 4], words[kWords / 2 + k / 4], 0x400 + 0x101 * (number % 4)) & 0x00FF00FFU;
        }
        return significant(permute(words[k / 2], words[kWords / 2 + k / 2], k % 2 == 0 ? 0x5410 : 0x7632), stored_up);
    }

    TRICODEC_KERNEL static void load_row(const FrameArgs& frame, int row, int column, int last,
                                         std::uint32_t (&to)[kWords], std::uint32_t& next) {
        const unsigned char* const a = row_of(frame, 1, row);
        if constexpr (!kPlanes) {
            load_words(a + 2 * column * kSampleBytes, to);
            if constexpr (kSampleBytes == 1) {
                next = gpu::load<std::uint16_t>(a + 2 * last);
            } else {
                next = gpu::load<std::uint32_t>(a + 4 * last);
            }
        } else {
            const unsigned char* const b = row_of(frame, 2, row);
            if constexpr (kWords == 1) {
                const std::uint32_t first = gpu::load<std::uint16_t>(a + column);
                to[0] = first | std::uint32_t{gpu::load<std::uint16_t>(b + column)} << 16;
            } else {
                std::uint32_t half[kWords / 2];
                load_words(a + column * kSampleBytes, half);
                for (int i = 0; i < kWords / 2; ++i) to[i] = half[i];
                load_words(b + column * kSampleBytes, half);
                for (int i = 0; i < kWords / 2; ++i) to[kWords / 2 + i] = half[i];
            }
            if constexpr (kSampleBytes == 1) {
                next = a[last] | std::uint32_t{b[last]} << 8;
            } else {
                const std::uint32_t first = gpu::load<std::uint16_t>(a + 2 * last);
                next = first | std::uint32_t{gpu::load<std::uint16_t>(b + 2 * last)} << 16;
            }
        }
    }

    /// The same words where some columns are not the crop's, or not aligned.
    TRICODEC_KERNEL static void load_part(const FrameArgs& frame, const SamplesArgs& args, int row, int column,
                                          std::uint32_t (&to)[kWords], std::uint32_t& next) {
        const unsigned char* const a = row_of(frame, 1, row);
        const unsigned char* const b = kPlanes ? row_of(frame, 2, row) : a;
        constexpr int kBits = 8 * kSampleBytes;
        for (std::uint32_t& word : to) word = 0;
        TRICODEC_UNROLL
        for (int k = 0; k <= kColumns; ++k) {
            const int at = clamp_to(column + k, args.chroma_begin, args.chroma_end);
            const std::uint32_t first = load_sample(a, kPlanes ? at : 2 * at, kSampleBytes);
            const std::uint32_t second = load_sample(b, kPlanes ? at : 2 * at + 1, kSampleBytes);
            if (k == kColumns) {
                next = first | second << kBits;
            } else if constexpr (kPlanes) {
                // Bit positions as if the two halves of `to` were one string of bits each.
                const int bit = k * kBits;
                const int half_bits = kColumns * kBits;
                to[bit / 32] |= first << (bit % 32);
                to[(half_bits + bit) / 32] |= second << ((half_bits + bit) % 32);
            } else {
                const int bit = 2 * k * kBits;
                to[bit / 32] |= (first | second << kBits) << (bit % 32);
            }
        }
    }
};

template <int kSampleBytes, int kPixels>
using ChromaOfPairs = HalfChroma<kSampleBytes, kPixels, false>;
template <int kSampleBytes, int kPixels>
using ChromaOfPlanes = HalfChroma<kSampleBytes, kPixels, true>;

/// The same from as many columns as luma has, or from none: then both components are neutral.
template <int kSampleBytes, int kPixels>
struct FullChroma {
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = false;
    using Samples = RowSamples<kSampleBytes, kPixels>;

    Samples component[2][2];  ///< by row, then by component

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRows*, const SamplesAt& at) {
        TRICODEC_UNROLL
        for (int row = 0; row < 2; ++row) {
            Samples(&to)[2] = component[row];
            if (args.chroma == Chroma::full_planes) {
                TRICODEC_UNROLL
                for (int i = 0; i < 2; ++i) {
                    load_samples<kSampleBytes, kPixels>(row_of(frame, 1 + i, at.rows[row]), at.column, args.luma_begin,
                                                        args.luma_end, at.whole, to[i].words);
                }
            } else if (args.chroma == Chroma::none) {
                TRICODEC_UNROLL
                for (int i = 0; i < Samples::kWords; ++i) to[0].words[i] = to[1].words[i] = args.neutral;
            } else {
                std::uint32_t pairs[2 * Samples::kWords];
                load_samples<kSampleBytes, 2 * kPixels>(row_of(frame, 1, at.rows[row]), 2 * at.column,
                                                        2 * args.luma_begin, 2 * args.luma_end, at.whole, pairs);
                TRICODEC_UNROLL
                for (int i = 0; i < Samples::kWords; ++i) {
                    to[0].words[i] = permute(pairs[2 * i], pairs[2 * i + 1], kSampleBytes == 1 ? 0x6420 : 0x5410);
                    to[1].words[i] = permute(pairs[2 * i], pairs[2 * i + 1], kSampleBytes == 1 ? 0x7531 : 0x7632);
                }
            }
        }
    }

    TRICODEC_KERNEL void settle(const SamplesArgs& args) {
        for (auto& row : component) {
            for (Samples& samples : row) samples.settle(args);
        }
    }

    TRICODEC_KERNEL std::int32_t integer(int row, int i, int number) const {
        return component[row][number].integer(i, false);
    }

    TRICODEC_KERNEL float centered(int row, int i, int number, float offset) const {
        return component[row][number].centered(i, offset);
    }
};

/// Gray, which luma alone makes.
template <int kSampleBytes, int kPixels>
struct NoChroma {
    static constexpr int kChannels = 1;
    static constexpr bool kHalf = false;

    TRICODEC_KERNEL void load(const FrameArgs&, const SamplesArgs&, const ChromaRows*, const SamplesAt&) {}
    TRICODEC_KERNEL void settle(const SamplesArgs&) {}
    TRICODEC_KERNEL static constexpr std::int32_t integer(int, int, int) { return 0; }
    TRICODEC_KERNEL static constexpr float centered(int, int, int, float) { return 0.0F; }
};

}  // namespace tricodec::image::gpu
