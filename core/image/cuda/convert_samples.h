// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// Samples of a thread's pixels for convert.h: two rows of the grid, the first of which is an even luma row. kBits says
// what the words of a picture hold:
//   8   bytes;
//   16  words of 16 bits, 9 or more significant. A shift makes them samples of 16 bits, which changes neither V nor P.
// With 8 bits and taps of integer quarters nothing is rounded: V is s << 6 or the sum of two rows in quarters, a
// multiple of 16, and half of the sum of two V is an integer. So 2 V <= 32736 and 4 P <= 65472 hold two components in
// one word of 32 bits, and one multiplication serves both. With 16 bits V is a rounded sum, and half of the sum of two
// V is rounded too. V and P are at most 16384, two of them in a word.

constexpr int sample_bytes_of(int bits) {
    return bits == 8 ? 1 : 2;
}

TRICODEC_KERNEL std::uint32_t load_sample(const unsigned char* row, int number, int sample_bytes) {
    if (sample_bytes == 1) return row[number];
    return row[2 * number] | std::uint32_t{row[2 * number + 1]} << 8;
}

TRICODEC_KERNEL int clamp_to(int value, int begin, int end) {
    return value < begin ? begin : value >= end ? end - 1 : value;
}

/// kCount samples as they are stored. Samples beyond the crop are not read; they repeat the last one inside.
template <int kSampleBytes, int kCount>
TRICODEC_KERNEL void load_samples(const unsigned char* row, int first, int begin, int end, bool aligned,
                                  std::uint32_t (&words)[kCount * kSampleBytes / 4]) {
    if (aligned) return load_words(row + first * kSampleBytes, words);
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

/// Two samples of 16 bits with their significant bits on top.
TRICODEC_KERNEL std::uint32_t on_top(std::uint32_t pair, const SamplesArgs& args) {
    return pair << args.to_top & args.mask;
}

/// Two of those as P: (s + 2) >> 2, in a way that needs no seventeenth bit.
TRICODEC_KERNEL std::uint32_t words_as_p(std::uint32_t pair) {
    return (pair >> 2 & 0x3FFF3FFFU) + (pair >> 1 & 0x00010001U);
}

inline constexpr float kTwo23 = 8388608.0F;

/// 2^23 + n, the float with n in the low bits of 2^23: integers become floats without a conversion.
TRICODEC_KERNEL float above_2_23(std::uint32_t pair, int half) {
    return float_of_bits(permute(pair, 0x4B00U, half == 0 ? 0x5410 : 0x5432));
}

/// One row of one component.
template <int kBits, int kPixels>
struct RowSamples {
    static constexpr int kSampleBytes = sample_bytes_of(kBits);
    static constexpr int kWords = kPixels * kSampleBytes / 4;
    static constexpr int kDownToBytes = kBits == 8 ? 21 : 19;  ///< bits below a byte in a sum of integer()

    std::uint32_t words[kWords];  ///< as stored; after settle() of 16 bits P

    TRICODEC_KERNEL void settle(const SamplesArgs& args) {
        if constexpr (kBits == 16) {
            for (std::uint32_t& pair : words) pair = words_as_p(on_top(pair, args));
        }
    }

    /// Pixel i: of 8 bits as it is, of 16 bits P.
    TRICODEC_KERNEL std::int32_t integer(int i) const {
        if constexpr (kBits == 8) {
            return static_cast<std::int32_t>(permute(words[i / 4], 0, 0x4440U + static_cast<unsigned>(i % 4)));
        } else {
            return static_cast<std::int32_t>(i % 2 == 0 ? words[i / 2] & 0xFFFFU : words[i / 2] >> 16);
        }
    }

    /// Pixel i: P minus the offset.
    TRICODEC_KERNEL float centered(int i, float offset) const {
        if constexpr (kBits == 8) {
            const auto byte = static_cast<unsigned>(i % 4);
            const float raised = float_of_bits(permute(words[i / 4], 0x4B000000U, 0x7440U + byte));
            return multiply_add_exact(raised, 64.0F, -(kTwo23 * 64.0F + offset));
        } else {
            return add(above_2_23(words[i / 2], i % 2), -(kTwo23 + offset));
        }
    }
};

/// Where a thread's pixels are in the source.
struct SamplesAt {
    std::int32_t column;   ///< of luma
    std::int32_t rows[2];  ///< of luma
    bool aligned;          ///< and all pixels belong to the crop
};

/// Half of the sum of two V each, rounded up from half way.
TRICODEC_KERNEL std::uint32_t mean_of_pairs(std::uint32_t a, std::uint32_t b) {
    return (a + b + 0x00010001U) >> 1 & 0x7FFF7FFFU;
}

/// Both chroma components of two rows from half as many columns: column i is the chroma of pixel 2 i, the mean of i and
/// i + 1 that of pixel 2 i + 1. All loads come before the first use, so that a thread waits for memory once.
template <int kBits, int kPixels, bool kPlanes>
struct HalfChroma {
    static constexpr int kSampleBytes = sample_bytes_of(kBits);
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = kBits == 8;  ///< pixel 2 i + 1 needs the sum of two columns alone
    static constexpr int kColumns = kPixels / 2;
    static constexpr int kWords = kColumns * kSampleBytes / 2;  ///< of a row, both components; planes have half each

    ChromaRows of_pair;
    std::uint32_t words[3][kWords];    ///< as stored
    std::uint32_t beyond[3];           ///< the next column's two samples as stored
    std::uint32_t v[2][kColumns + 1];  ///< V in the unit that the weights give, the first component in the low half

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRows* pair,
                              const SamplesAt& at) {
        of_pair = gpu::load<ChromaRows>(pair);
        const int column = at.column / 2;
        if (at.aligned) {
            const int last = clamp_to(column + kColumns, args.chroma_begin, args.chroma_end);
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) load_row(frame, of_pair.row[i], column, last, words[i], beyond[i]);
        } else {
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) load_part(frame, args, of_pair.row[i], column, words[i], beyond[i]);
        }
    }

    TRICODEC_KERNEL void settle(const SamplesArgs& args) {
        const std::uint32_t (&weight)[2][2] = of_pair.weight;
        std::uint32_t pairs[3][kColumns + 1];
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) {
            TRICODEC_UNROLL
            for (int k = 0; k < kColumns; ++k) pairs[i][k] = column_of(words[i], k, args);
            pairs[i][kColumns] = kBits == 8 ? permute(beyond[i], 0, 0x4140) : on_top(beyond[i], args);
        }
        TRICODEC_UNROLL
        for (int k = 0; k <= kColumns; ++k) {
            v[0][k] = sum_of_rows(pairs[0][k], weight[0][0], pairs[1][k], weight[0][1]);
            v[1][k] = sum_of_rows(pairs[2][k], weight[1][1], pairs[1][k], weight[1][0]);
        }
    }

    /// V of pixel i, both components: of 16 bits.
    TRICODEC_KERNEL std::uint32_t pair_of(int row, int i) const {
        return i % 2 == 0 ? v[row][i / 2] : mean_of_pairs(v[row][i / 2], v[row][i / 2 + 1]);
    }

    /// P of pixel i: of 16 bits.
    TRICODEC_KERNEL std::int32_t integer(int row, int i, int component) const {
        const std::uint32_t pair = pair_of(row, i);
        return static_cast<std::int32_t>(component == 0 ? pair & 0xFFFFU : pair >> 16);
    }

    /// P minus the offset of pixel i.
    TRICODEC_KERNEL float centered(int row, int i, int component, float offset) const {
        if constexpr (kBits == 16) {
            return add(above_2_23(pair_of(row, i), component), -(kTwo23 + offset));
        } else {
            const std::uint32_t here = v[row][i / 2];
            if (i % 2 == 0) return multiply_add_exact(above_2_23(here, component), 0.5F, -(kTwo23 * 0.5F + offset));
            const float sum = above_2_23(here + v[row][i / 2 + 1], component);
            return multiply_add_exact(sum, 0.25F, -(kTwo23 * 0.25F + offset));
        }
    }

private:
    TRICODEC_KERNEL static std::uint32_t sum_of_rows(std::uint32_t a, std::uint32_t weight_a, std::uint32_t b,
                                                     std::uint32_t weight_b) {
        if constexpr (kBits == 8) return a * weight_a + b * weight_b;
        // Sums in units of 1/64, and rounding: V is in bytes 1 and 2.
        const std::uint32_t first = dot_words(a, weight_a, dot_words(b, weight_b, 128));
        const std::uint32_t second = dot_words(a, weight_a << 8, dot_words(b, weight_b << 8, 128));
        return permute(first, second, 0x6521);
    }

    /// Column k's two samples, 16 bits apart.
    TRICODEC_KERNEL static std::uint32_t column_of(const std::uint32_t (&words)[kWords], int k,
                                                   const SamplesArgs& args) {
        const auto number = static_cast<unsigned>(k);
        if constexpr (kSampleBytes == 1 && !kPlanes) return permute(words[k / 2], 0, k % 2 == 0 ? 0x4140 : 0x4342);
        if constexpr (kSampleBytes == 2 && !kPlanes) return on_top(words[k], args);
        if constexpr (kSampleBytes == 1 && kColumns == 2) return words[0] >> (8 * number) & 0x00FF00FFU;
        if constexpr (kSampleBytes == 1) {
            return permute(words[k / 4], words[kWords / 2 + k / 4], 0x400 + 0x101 * (number % 4)) & 0x00FF00FFU;
        }
        return on_top(permute(words[k / 2], words[kWords / 2 + k / 2], k % 2 == 0 ? 0x5410 : 0x7632), args);
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

    /// The same words where some columns are outside the crop, or not aligned.
    TRICODEC_KERNEL static void load_part(const FrameArgs& frame, const SamplesArgs& args, int row, int column,
                                          std::uint32_t (&to)[kWords], std::uint32_t& next) {
        const unsigned char* const a = row_of(frame, 1, row);
        const unsigned char* const b = kPlanes ? row_of(frame, 2, row) : a;
        constexpr int kStored = 8 * kSampleBytes;
        for (std::uint32_t& word : to) word = 0;
        TRICODEC_UNROLL
        for (int k = 0; k <= kColumns; ++k) {
            const int at = clamp_to(column + k, args.chroma_begin, args.chroma_end);
            const std::uint32_t first = load_sample(a, kPlanes ? at : 2 * at, kSampleBytes);
            const std::uint32_t second = load_sample(b, kPlanes ? at : 2 * at + 1, kSampleBytes);
            if (k == kColumns) {
                next = first | second << kStored;
            } else if constexpr (kPlanes) {
                // Bit positions as if the two halves of `to` were one string of bits each.
                const int bit = k * kStored;
                const int half_bits = kColumns * kStored;
                to[bit / 32] |= first << (bit % 32);
                to[(half_bits + bit) / 32] |= second << ((half_bits + bit) % 32);
            } else {
                const int bit = 2 * k * kStored;
                to[bit / 32] |= (first | second << kStored) << (bit % 32);
            }
        }
    }
};

template <int kBits, int kPixels>
using ChromaOfPairs = HalfChroma<kBits, kPixels, false>;
template <int kBits, int kPixels>
using ChromaOfPlanes = HalfChroma<kBits, kPixels, true>;

/// The same from as many columns as luma has, from half as many that are repeated, or from none: then both components
/// are neutral.
template <int kBits, int kPixels>
struct FullChroma {
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = false;
    static constexpr int kSampleBytes = sample_bytes_of(kBits);
    using Samples = RowSamples<kBits, kPixels>;

    Samples component[2][2];  ///< by row, then by component

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRows*, const SamplesAt& at) {
        TRICODEC_UNROLL
        for (int row = 0; row < 2; ++row) {
            Samples(&to)[2] = component[row];
            if (args.chroma == Chroma::repeated_pairs || args.chroma == Chroma::repeated_planes) {
                load_repeated(frame, args, at.rows[row] >> args.log2_repeated_rows, at, to);
            } else if (args.chroma == Chroma::full_planes) {
                TRICODEC_UNROLL
                for (int i = 0; i < 2; ++i) {
                    load_samples<kSampleBytes, kPixels>(row_of(frame, 1 + i, at.rows[row]), at.column, args.luma_begin,
                                                        args.luma_end, at.aligned, to[i].words);
                }
            } else if (args.chroma == Chroma::none) {
                TRICODEC_UNROLL
                for (int i = 0; i < Samples::kWords; ++i) to[0].words[i] = to[1].words[i] = args.neutral;
            } else {
                std::uint32_t pairs[2 * Samples::kWords];
                load_samples<kSampleBytes, 2 * kPixels>(row_of(frame, 1, at.rows[row]), 2 * at.column,
                                                        2 * args.luma_begin, 2 * args.luma_end, at.aligned, pairs);
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

    TRICODEC_KERNEL std::int32_t integer(int row, int i, int number) const { return component[row][number].integer(i); }

    TRICODEC_KERNEL float centered(int row, int i, int number, float offset) const {
        return component[row][number].centered(i, offset);
    }

private:
    TRICODEC_KERNEL static void load_repeated(const FrameArgs& frame, const SamplesArgs& args, int row,
                                              const SamplesAt& at, Samples (&to)[2]) {
        const int column = at.column / 2;
        if (args.chroma == Chroma::repeated_pairs) {
            std::uint32_t pairs[Samples::kWords];
            load_samples<kSampleBytes, kPixels>(row_of(frame, 1, row), 2 * column, 2 * args.chroma_begin,
                                                2 * args.chroma_end, at.aligned, pairs);
            TRICODEC_UNROLL
            for (int i = 0; i < Samples::kWords; ++i) {
                to[0].words[i] = permute(pairs[i], 0, kSampleBytes == 1 ? 0x2200 : 0x1010);
                to[1].words[i] = permute(pairs[i], 0, kSampleBytes == 1 ? 0x3311 : 0x3232);
            }
            return;
        }
        TRICODEC_UNROLL
        for (int number = 0; number < 2; ++number) {
            const unsigned char* const from = row_of(frame, 1 + number, row);
            constexpr int kHalfBytes = kPixels / 2 * kSampleBytes;
            std::uint32_t half[kHalfBytes < 4 ? 1 : kHalfBytes / 4];
            if constexpr (kHalfBytes < 4) {
                if (at.aligned) {
                    half[0] = gpu::load<std::uint16_t>(from + column);
                } else {
                    half[0] = from[clamp_to(column, args.chroma_begin, args.chroma_end)] |
                              std::uint32_t{from[clamp_to(column + 1, args.chroma_begin, args.chroma_end)]} << 8;
                }
            } else {
                load_samples<kSampleBytes, kPixels / 2>(from, column, args.chroma_begin, args.chroma_end, at.aligned,
                                                        half);
            }
            TRICODEC_UNROLL
            for (int i = 0; i < Samples::kWords; ++i) {
                const std::uint32_t first = kSampleBytes == 1 ? 0x1100 : 0x1010;
                to[number].words[i] = permute(half[i / 2], 0, i % 2 == 0 ? first : first + 0x2222);
            }
        }
    }
};

/// Gray, which luma alone makes.
template <int kBits, int kPixels>
struct NoChroma {
    static constexpr int kChannels = 1;
    static constexpr bool kHalf = false;

    TRICODEC_KERNEL void load(const FrameArgs&, const SamplesArgs&, const ChromaRows*, const SamplesAt&) {}
    TRICODEC_KERNEL void settle(const SamplesArgs&) {}
    TRICODEC_KERNEL static constexpr std::int32_t integer(int, int, int) { return 0; }
    TRICODEC_KERNEL static constexpr float centered(int, int, int, float) { return 0.0F; }
};

}  // namespace tricodec::image::gpu
