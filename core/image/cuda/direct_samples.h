// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// Samples of a thread's pixels for direct_kernel.h. With d = 8 or 10 significant bits and taps of whole quarters
// nothing is rounded: V is s << (14 - d) or the sum of two rows in quarters, a multiple of 16 >> (d - 8); half of the
// sum of two V is whole. So 2 V <= 32736 and 4 P <= 65472 hold two components in one word of 32 bits, and one
// multiplication serves both.

enum class Chroma : std::int32_t {
    none,         ///< no channel needs it
    half_pairs,   ///< half the width, components side by side
    half_planes,  ///< half the width, a plane each
    full_pairs,   ///< as wide as luma
    full_planes,
};

/// The two rows that a row's chroma is made from, and twice their weights in V's unit.
struct ChromaRow {
    std::int32_t row[2];
    std::uint32_t weight[2];
};

struct SamplesArgs {
    Chroma chroma;
    std::int32_t aligned;     ///< planes and strides of every frame are multiples of 16 bytes
    std::int32_t stored_up;   ///< words of 16 bits: unused low bits of a stored sample, 0 or 6
    std::uint32_t neutral;    ///< stored samples of no color, as many as a word holds
    std::int32_t top;         ///< luma row of grid row 0
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
    if (whole) return load_words(row + static_cast<std::int64_t>(first) * kSampleBytes, words);
    constexpr int kInWord = 4 / kSampleBytes;
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

template <int kSampleBytes, int kPixels>
struct LumaSamples {
    std::uint32_t words[kPixels * kSampleBytes / 4];

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, int column, int row, bool whole) {
        load_samples<kSampleBytes, kPixels>(row_of(frame, 0, args.top + row), column, args.luma_begin, args.luma_end,
                                            whole, words);
    }

    /// Four pixels: bytes as they are, words of 16 bits as 4 P.
    TRICODEC_KERNEL void get(const SamplesArgs& args, int four, std::uint32_t (&luma)[4]) const {
        if constexpr (kSampleBytes == 1) {
            for (unsigned i = 0; i < 4; ++i) luma[i] = permute(words[four], 0, 0x4440 + i);
        } else {
            for (int i = 0; i < 2; ++i) {
                const std::uint32_t pair = words_as_4p(words[2 * four + i], args.stored_up);
                luma[2 * i] = pair & 0xFFFFU;
                luma[2 * i + 1] = pair >> 16;
            }
        }
    }
};

/// 4 P of both chroma components of each pixel, the first in the low half of a word: from half as many columns.
template <int kSampleBytes, int kPixels>
struct HalfChroma {
    static constexpr int kColumns = kPixels / 2;

    std::uint32_t twice_v[kColumns + 1];  ///< of both components

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRow* rows, int column,
                              int row, bool whole) {
        const auto found = gpu::load<Words4>(rows + row);
        std::uint32_t first[kColumns + 1];
        std::uint32_t second[kColumns + 1];
        load_row(frame, args, column / 2, static_cast<int>(found.w[0]), whole, first);
        load_row(frame, args, column / 2, static_cast<int>(found.w[1]), whole, second);
        for (int i = 0; i <= kColumns; ++i) twice_v[i] = first[i] * found.w[2] + second[i] * found.w[3];
    }

    TRICODEC_KERNEL void get(const SamplesArgs&, int four, std::uint32_t (&chroma)[4]) const {
        for (int i = 0; i < 2; ++i) {
            const std::uint32_t here = twice_v[2 * four + i];
            chroma[2 * i] = here << 1;
            chroma[2 * i + 1] = here + twice_v[2 * four + i + 1];
        }
    }

private:
    /// Samples of both components in one word, d significant bits each.
    TRICODEC_KERNEL static std::uint32_t pair_of_samples(std::uint32_t a, std::uint32_t b, int stored_up) {
        if constexpr (kSampleBytes == 1) return a | b << 16;
        return (a >> stored_up & 0x3FFU) | (b >> stored_up & 0x3FFU) << 16;
    }

    TRICODEC_KERNEL static void load_row(const FrameArgs& frame, const SamplesArgs& args, int column, int row,
                                         bool whole, std::uint32_t (&pairs)[kColumns + 1]) {
        const bool planes = args.chroma == Chroma::half_planes;
        const unsigned char* const a = row_of(frame, 1, row);
        const unsigned char* const b = planes ? row_of(frame, 2, row) : nullptr;
        const auto one = [&](int number) {
            const int at = clamp_to(number, args.chroma_begin, args.chroma_end);
            const std::uint32_t first = load_sample(a, planes ? at : 2 * at, kSampleBytes);
            const std::uint32_t second =
                planes ? load_sample(b, at, kSampleBytes) : load_sample(a, 2 * at + 1, kSampleBytes);
            return pair_of_samples(first, second, args.stored_up);
        };
        pairs[kColumns] = one(column + kColumns);
        if (!whole) {
            for (int i = 0; i < kColumns; ++i) pairs[i] = one(column + i);
        } else if (planes) {
            load_planes(a, b, column, args.stored_up, pairs);
        } else {
            load_pairs(a, column, args.stored_up, pairs);
        }
    }

    TRICODEC_KERNEL static void load_pairs(const unsigned char* row, int column, int stored_up,
                                           std::uint32_t (&pairs)[kColumns + 1]) {
        std::uint32_t words[kColumns * kSampleBytes / 2];
        load_words(row + static_cast<std::int64_t>(column) * 2 * kSampleBytes, words);
        for (int i = 0; i < kColumns; ++i) {
            if constexpr (kSampleBytes == 1) {
                pairs[i] = permute(words[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
            } else {
                pairs[i] = words[i] >> stored_up & 0x03FF03FFU;
            }
        }
    }

    TRICODEC_KERNEL static void load_planes(const unsigned char* a, const unsigned char* b, int column, int stored_up,
                                            std::uint32_t (&pairs)[kColumns + 1]) {
        constexpr int kBytes = kColumns * kSampleBytes;
        const std::int64_t offset = static_cast<std::int64_t>(column) * kSampleBytes;
        if constexpr (kBytes < 4) {  // two columns of bytes
            const std::uint32_t first = gpu::load<std::uint16_t>(a + offset);
            const std::uint32_t second = gpu::load<std::uint16_t>(b + offset);
            const std::uint32_t both = first | second << 16;
            pairs[0] = both & 0x00FF00FFU;
            pairs[1] = both >> 8 & 0x00FF00FFU;
        } else {
            std::uint32_t first[kBytes / 4];
            std::uint32_t second[kBytes / 4];
            load_words(a + offset, first);
            load_words(b + offset, second);
            for (int i = 0; i < kColumns; ++i) {
                if constexpr (kSampleBytes == 1) {
                    const auto byte = static_cast<std::uint32_t>(i % 4);
                    pairs[i] = permute(first[i / 4], second[i / 4], 0x400 + 0x101 * byte) & 0x00FF00FFU;
                } else {
                    pairs[i] =
                        permute(first[i / 2], second[i / 2], i % 2 == 0 ? 0x5410 : 0x7632) >> stored_up & 0x03FF03FFU;
                }
            }
        }
    }
};

/// The same from as many columns as luma has, or from none: then both components are neutral.
template <int kSampleBytes, int kPixels>
struct FullChroma {
    static constexpr int kWords = kPixels * kSampleBytes / 4;

    std::uint32_t words[2][kWords];  ///< samples of each component, as stored

    TRICODEC_KERNEL void load(const FrameArgs& frame, const SamplesArgs& args, const ChromaRow*, int column, int row,
                              bool whole) {
        const int y = args.top + row;
        if (args.chroma == Chroma::full_planes) {
            for (int i = 0; i < 2; ++i) {
                load_samples<kSampleBytes, kPixels>(row_of(frame, 1 + i, y), column, args.luma_begin, args.luma_end,
                                                    whole, words[i]);
            }
        } else if (args.chroma == Chroma::full_pairs) {
            std::uint32_t pairs[2 * kWords];
            load_samples<kSampleBytes, 2 * kPixels>(row_of(frame, 1, y), 2 * column, 2 * args.luma_begin,
                                                    2 * args.luma_end, whole, pairs);
            for (int i = 0; i < kWords; ++i) {
                words[0][i] = permute(pairs[2 * i], pairs[2 * i + 1], kSampleBytes == 1 ? 0x6420 : 0x5410);
                words[1][i] = permute(pairs[2 * i], pairs[2 * i + 1], kSampleBytes == 1 ? 0x7531 : 0x7632);
            }
        } else {
            for (int i = 0; i < kWords; ++i) words[0][i] = words[1][i] = args.neutral;
        }
    }

    TRICODEC_KERNEL void get(const SamplesArgs& args, int four, std::uint32_t (&chroma)[4]) const {
        if constexpr (kSampleBytes == 1) {
            for (unsigned i = 0; i < 4; ++i) {
                chroma[i] = permute(words[0][four], words[1][four], 0x4000 + 0x1010 * i) & 0xFF00FF00U;
            }
        } else {
            for (int i = 0; i < 2; ++i) {
                const std::uint32_t a = words_as_4p(words[0][2 * four + i], args.stored_up);
                const std::uint32_t b = words_as_4p(words[1][2 * four + i], args.stored_up);
                chroma[2 * i] = permute(a, b, 0x5410);
                chroma[2 * i + 1] = permute(a, b, 0x7632);
            }
        }
    }
};

}  // namespace tricodec::image::gpu
