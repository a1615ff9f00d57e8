// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/direct_samples.h"
#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/shifted_words.h"

namespace tricodec::image::gpu {

// The chroma of a thread's pixels, as direct_samples.h has their luma.

/// The chroma of two rows: the first is made of row[0] and row[1], the second of row[1] and row[2].
struct alignas(16) ChromaRows {
    std::int32_t row[3];
    std::uint32_t weight[2][2];  ///< in quarters times chroma_unit()
    std::int32_t padding;
};

/// What the weights of rows, whole quarters of at most 4, are multiplied by: of 8 and 10 bits so that sums are 2 V, of
/// 16 bits so that V stands in the middle bytes of a sum.
constexpr std::uint32_t chroma_unit(int bits) {
    return bits == 8 ? 32 : bits == 10 ? 8 : 16;
}

/// Where a thread's pixels are in the source.
struct SamplesAt {
    std::int32_t column;   ///< of luma
    std::int32_t rows[2];  ///< of luma
    bool whole;            ///< all pixels are the crop's, and aligned
};

/// Weights of rows as dot_bytes() takes them: by the byte of a word that they are for.
struct ChromaDots {
    std::uint32_t middle[4];  ///< of the row that both are made from, in quarters
    std::uint32_t outer[4];   ///< of the other
};

/// Half of the sum of two V each, rounded up from half way.
TRICODEC_KERNEL std::uint32_t mean_of_pairs(std::uint32_t a, std::uint32_t b) {
    return (a + b + 0x00010001U) >> 1 & 0x7FFF7FFFU;
}

/// Both chroma components of two rows from half as many columns: column i is the chroma of pixel 2 i, the mean of i and
/// i + 1 that of pixel 2 i + 1. Loads come all before the first use, so that the memory is waited for once.
template <int kBits, int kPixels, bool kPlanes>
struct HalfChroma {
    static constexpr int kSampleBytes = bytes_of(kBits);
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = kBits != 16;  ///< pixel 2 i + 1 needs the sum of two columns alone
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

    /// The same from any address and of any width: bytes. With `inside` the 15 bytes before and after a thread's
    /// belong to the plane too.
    TRICODEC_KERNEL void load_any(const FrameArgs& frame, const SamplesArgs& args, int column, int first, int second,
                                  int third, bool inside) {
        static_assert(kBits == 8);
        const int rows[3] = {first, second, third};
        const int left = args.chroma_end - column;  // columns that exist
        const int last = left > kColumns ? column + kColumns : args.chroma_end - 1;
        if (!inside) {
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) load_part(frame, args, rows[i], column, words[i], beyond[i]);
            return;
        }
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) load_row<true>(frame, rows[i], column, last, words[i], beyond[i]);
        if (left < kColumns) {
            TRICODEC_UNROLL
            for (int i = 0; i < 3; ++i) repeat_at(words[i], beyond[i], left);
        }
    }

    TRICODEC_KERNEL void settle(const SamplesArgs& args) { settle(args, of_pair.weight); }

    TRICODEC_KERNEL void settle(const SamplesArgs& args, const std::uint32_t (&weight)[2][2]) {
        std::uint32_t pairs[3][kColumns + 1];
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) {
            TRICODEC_UNROLL
            for (int k = 0; k < kColumns; ++k) pairs[i][k] = column_of(words[i], k, args);
            pairs[i][kColumns] = kBits == 8 ? permute(beyond[i], 0, 0x4140) : significant(beyond[i], args);
        }
        TRICODEC_UNROLL
        for (int k = 0; k <= kColumns; ++k) {
            v[0][k] = sum_of_rows(pairs[0][k], weight[0][0], pairs[1][k], weight[0][1]);
            v[1][k] = sum_of_rows(pairs[2][k], weight[1][1], pairs[1][k], weight[1][0]);
        }
    }

    /// 2^23 and column k's sum of two rows in quarters of a sample, of 16 bits V; of 8 bits without settle().
    TRICODEC_KERNEL float raised(int row, int k, int component, const ChromaDots& dots) const {
        if constexpr (kBits == 8) {
            const int outer = row == 0 ? 0 : 2;
            const int byte = k == kColumns ? component : byte_of(k, component);
            const std::uint32_t other = k == kColumns ? beyond[outer] : words[outer][byte / 4];
            const std::uint32_t shared = k == kColumns ? beyond[1] : words[1][byte / 4];
            const std::uint32_t bits = dot_bytes(shared, dots.middle[byte % 4], 0x4B000000U);
            return float_of_bits(dot_bytes(other, dots.outer[byte % 4], bits));
        } else {
            return above_2_23(v[row][k], component);
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
    /// Where column k's sample of 8 bits is in its words.
    TRICODEC_KERNEL static constexpr int byte_of(int k, int component) {
        return kPlanes ? component * kColumns + k : 2 * k + component;
    }

    /// Makes column k what is `next`: of 8 bits.
    TRICODEC_KERNEL static void repeat_at(std::uint32_t (&to)[kWords], std::uint32_t next, int k) {
        TRICODEC_UNROLL
        for (int i = 1; i < kColumns; ++i) {
            if (i != k) continue;
            TRICODEC_UNROLL
            for (int component = 0; component < 2; ++component) {
                const int byte = byte_of(i, component);
                const int bit = byte % 4 * 8;
                to[byte / 4] = (to[byte / 4] & ~(0xFFU << bit)) | (next >> (8 * component) & 0xFFU) << bit;
            }
        }
    }

    /// Two words of 16 bits without their unused bits.
    TRICODEC_KERNEL static std::uint32_t significant(std::uint32_t pair, const SamplesArgs& args) {
        return kBits == 10 ? pair >> args.stored_up & 0x03FF03FFU : on_top(pair, args);
    }

    TRICODEC_KERNEL static std::uint32_t sum_of_rows(std::uint32_t a, std::uint32_t weight_a, std::uint32_t b,
                                                     std::uint32_t weight_b) {
        if constexpr (kBits != 16) return a * weight_a + b * weight_b;
        // Sums of 16 quarters and what rounds: V is in bytes 1 and 2.
        const std::uint32_t first = dot_words(a, weight_a, dot_words(b, weight_b, 128));
        const std::uint32_t second = dot_words(a, weight_a << 8, dot_words(b, weight_b << 8, 128));
        return permute(first, second, 0x6521);
    }

    /// Column k's two samples, 16 bits apart; of 8 and 10 bits the significant bits alone.
    TRICODEC_KERNEL static std::uint32_t column_of(const std::uint32_t (&words)[kWords], int k,
                                                   const SamplesArgs& args) {
        const auto number = static_cast<unsigned>(k);
        if constexpr (kSampleBytes == 1 && !kPlanes) return permute(words[k / 2], 0, k % 2 == 0 ? 0x4140 : 0x4342);
        if constexpr (kSampleBytes == 2 && !kPlanes) return significant(words[k], args);
        if constexpr (kSampleBytes == 1 && kColumns == 2) return words[0] >> (8 * number) & 0x00FF00FFU;
        if constexpr (kSampleBytes == 1) {
            return permute(words[k / 4], words[kWords / 2 + k / 4], 0x400 + 0x101 * (number % 4)) & 0x00FF00FFU;
        }
        return significant(permute(words[k / 2], words[kWords / 2 + k / 2], k % 2 == 0 ? 0x5410 : 0x7632), args);
    }

    /// With kAny from any address.
    template <bool kAny = false>
    TRICODEC_KERNEL static void load_row(const FrameArgs& frame, int row, int column, int last,
                                         std::uint32_t (&to)[kWords], std::uint32_t& next) {
        const unsigned char* const a = row_of(frame, 1, row);
        if constexpr (!kPlanes) {
            load_words_of<kAny>(a + 2 * column * kSampleBytes, to);
            if constexpr (kAny) {
                next = load_sample(a, last, 2);
            } else if constexpr (kSampleBytes == 1) {
                next = gpu::load<std::uint16_t>(a + 2 * last);
            } else {
                next = gpu::load<std::uint32_t>(a + 4 * last);
            }
        } else {
            const unsigned char* const b = row_of(frame, 2, row);
            if constexpr (kWords == 1 && kAny) {
                to[0] = load_sample(a + column, 0, 2) | load_sample(b + column, 0, 2) << 16;
            } else if constexpr (kWords == 1) {
                const std::uint32_t first = gpu::load<std::uint16_t>(a + column);
                to[0] = first | std::uint32_t{gpu::load<std::uint16_t>(b + column)} << 16;
            } else {
                std::uint32_t half[kWords / 2];
                load_words_of<kAny>(a + column * kSampleBytes, half);
                for (int i = 0; i < kWords / 2; ++i) to[i] = half[i];
                load_words_of<kAny>(b + column * kSampleBytes, half);
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

/// The same from as many columns as luma has, or from none: then both components are neutral.
template <int kBits, int kPixels>
struct FullChroma {
    static constexpr int kChannels = 3;
    static constexpr bool kHalf = false;
    static constexpr int kSampleBytes = bytes_of(kBits);
    using Samples = RowSamples<kBits, kPixels>;

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
