// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// Words from addresses that need not be multiples of anything. What is aligned is read and shifted, so that what stands
// beside the words is read too.

/// kWords words from a multiple of their size or of 16, in as few loads as there are.
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

template <int kFirst, int kWords, int kAll>
TRICODEC_KERNEL void shift_words(const std::uint32_t (&all)[kAll], std::uint32_t bits, std::uint32_t (&words)[kWords]) {
    TRICODEC_UNROLL
    for (int i = 0; i < kWords; ++i) words[i] = funnel_shift(all[kFirst + i], all[kFirst + i + 1], bits);
}

/// kWords words from any address, in words of 4 bytes; up to 3 bytes on either side are read too.
template <int kWords>
TRICODEC_KERNEL void load_shifted(const unsigned char* from, std::uint32_t (&words)[kWords]) {
    const auto apart = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from)) % 4;
    std::uint32_t all[kWords + 1];
    TRICODEC_UNROLL
    for (int i = 0; i < kWords; ++i) all[i] = load<std::uint32_t>(from - apart + 4 * i);
    all[kWords] = apart == 0 ? 0 : load<std::uint32_t>(from - apart + 4 * kWords);
    shift_words<0>(all, 8 * apart, words);
}

/// Sixteen bytes from any address in aligned words of 16 bytes; up to 15 bytes on either side are read too. Threads
/// whose addresses are multiples of 16 apart go the same way.
TRICODEC_KERNEL Words4 load_shifted_16(const unsigned char* from) {
    const auto apart = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from)) % 16;
    if (apart == 0) return load<Words4>(from);
    std::uint32_t all[8];
    load_words(from - apart, all);
    const std::uint32_t bits = apart % 4 * 8;
    Words4 word{};
    switch (apart / 4) {
        case 0:
            shift_words<0>(all, bits, word.w);
            break;
        case 1:
            shift_words<1>(all, bits, word.w);
            break;
        case 2:
            shift_words<2>(all, bits, word.w);
            break;
        default:
            shift_words<3>(all, bits, word.w);
            break;
    }
    return word;
}

template <bool kAny, int kWords>
TRICODEC_KERNEL void load_words_of(const unsigned char* from, std::uint32_t (&words)[kWords]) {
    if constexpr (kAny) {
        load_shifted(from, words);
    } else {
        load_words(from, words);
    }
}

}  // namespace tricodec::image::gpu
