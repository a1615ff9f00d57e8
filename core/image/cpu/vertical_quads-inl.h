// SPDX-License-Identifier: Apache-2.0
// The vertical pass of 8-bit rows with the byte products of AVX-512 VNNI; included for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_VERTICAL_QUADS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_VERTICAL_QUADS_INL_H
#undef TRICODEC_IMAGE_CPU_VERTICAL_QUADS_INL_H
#else
#define TRICODEC_IMAGE_CPU_VERTICAL_QUADS_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "image/cpu/kernels.h"
#include "image/cpu/lines_ahead-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
// Highway runs AVX3_DL only on machines with VNNI, but does not name it to the compiler.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
namespace tricodec::image::HWY_NAMESPACE {
/// 8-bit rows, four at a time (vpdpbusd): a coefficient is 256 * high + low, both signed bytes, so that the sum is
/// 256 * H + L and V, (256 * H + L + 128) >> 8, is H + ((L + 128) >> 8). Takes 64 columns and more.
struct QuadTaps {
    static constexpr int kMost = 64;
    std::array<std::uint32_t, kMost / 4> high{};
    std::array<std::uint32_t, kMost / 4> low{};

    explicit QuadTaps(const VerticalRow& row) {
        for (int k = 0; k < row.num_taps; ++k) {
            const int coef = row.coefs[k];
            const int upper = (coef + 128) >> 8;
            const auto at = static_cast<std::size_t>(k / 4);
            high[at] |= std::uint32_t{static_cast<std::uint8_t>(upper)} << (8 * (k % 4));
            low[at] |= std::uint32_t{static_cast<std::uint8_t>(coef - 256 * upper)} << (8 * (k % 4));
        }
    }
};

inline void vertical_quads(const VerticalRow& row, std::int16_t* HWY_RESTRICT v) {
    const QuadTaps taps(row);
    const __m512i in_order_0 = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i in_order_1 = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const int last = row.width - 64;
    for (int x = 0;; x = x + 64 < last ? x + 64 : last) {
        fetch_lines(*row.ahead);
        const std::byte* at = row.data + x;
        __m512i high0 = _mm512_setzero_si512();
        __m512i high1 = high0;
        __m512i high2 = high0;
        __m512i high3 = high0;
        __m512i low0 = _mm512_set1_epi32(128);
        __m512i low1 = low0;
        __m512i low2 = low0;
        __m512i low3 = low0;
        for (int k = 0; k < row.num_taps; k += 4, at += 4 * row.stride_bytes) {
            // Rows after the last tap have coefficients of 0 and need not exist: the last one replaces them.
            const std::ptrdiff_t rest = row.num_taps - 1 - k;
            const std::ptrdiff_t second = (rest < 1 ? rest : 1) * row.stride_bytes;
            const std::ptrdiff_t third = (rest < 2 ? rest : 2) * row.stride_bytes;
            const std::ptrdiff_t fourth = (rest < 3 ? rest : 3) * row.stride_bytes;
            const __m512i a = _mm512_loadu_si512(at);
            const __m512i b = _mm512_loadu_si512(at + second);
            const __m512i c = _mm512_loadu_si512(at + third);
            const __m512i d = _mm512_loadu_si512(at + fourth);
            const __m512i ab0 = _mm512_unpacklo_epi8(a, b);
            const __m512i ab1 = _mm512_unpackhi_epi8(a, b);
            const __m512i cd0 = _mm512_unpacklo_epi8(c, d);
            const __m512i cd1 = _mm512_unpackhi_epi8(c, d);
            const __m512i abcd0 = _mm512_unpacklo_epi16(ab0, cd0);
            const __m512i abcd1 = _mm512_unpackhi_epi16(ab0, cd0);
            const __m512i abcd2 = _mm512_unpacklo_epi16(ab1, cd1);
            const __m512i abcd3 = _mm512_unpackhi_epi16(ab1, cd1);
            const auto high = _mm512_set1_epi32(static_cast<int>(taps.high[static_cast<std::size_t>(k / 4)]));
            const auto low = _mm512_set1_epi32(static_cast<int>(taps.low[static_cast<std::size_t>(k / 4)]));
            high0 = _mm512_dpbusd_epi32(high0, abcd0, high);
            high1 = _mm512_dpbusd_epi32(high1, abcd1, high);
            high2 = _mm512_dpbusd_epi32(high2, abcd2, high);
            high3 = _mm512_dpbusd_epi32(high3, abcd3, high);
            low0 = _mm512_dpbusd_epi32(low0, abcd0, low);
            low1 = _mm512_dpbusd_epi32(low1, abcd1, low);
            low2 = _mm512_dpbusd_epi32(low2, abcd2, low);
            low3 = _mm512_dpbusd_epi32(low3, abcd3, low);
        }
        // Blocks of 8 columns: even ones here, odd ones there.
        const __m512i even = _mm512_packs_epi32(_mm512_add_epi32(high0, _mm512_srai_epi32(low0, 8)),
                                                _mm512_add_epi32(high1, _mm512_srai_epi32(low1, 8)));
        const __m512i odd = _mm512_packs_epi32(_mm512_add_epi32(high2, _mm512_srai_epi32(low2, 8)),
                                               _mm512_add_epi32(high3, _mm512_srai_epi32(low3, 8)));
        _mm512_storeu_si512(v + x, _mm512_permutex2var_epi64(even, in_order_0, odd));
        _mm512_storeu_si512(v + x + 32, _mm512_permutex2var_epi64(even, in_order_1, odd));
        if (x == last) return;
    }
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
