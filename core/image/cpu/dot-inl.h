// SPDX-License-Identifier: Apache-2.0
// Section 4.3 of docs/reference/transform.md where outputs are dot products: Note [Rows side by side] of kernels.h;
// compiled once for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_DOT_INL_H
#undef TRICODEC_IMAGE_CPU_DOT_INL_H
#else
#define TRICODEC_IMAGE_CPU_DOT_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "image/cpu/kernels.h"
#include "image/cpu/pairs-inl.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kRowsAtOnce = static_cast<int>(hn::MaxLanes(D16())) / kBlockColumns;
static_assert(kRowsAtOnce <= static_cast<int>(kMostRowsAtOnce));

/// As many blocks of each row as vectors take: `v` has room after its end, and so must `blocks` have.
inline void interleave(const RowsAtOnce& v, int num_blocks, std::int16_t* HWY_RESTRICT blocks) {
    const D16 d;
    for (int i = 0; i < num_blocks; i += kRowsAtOnce, blocks += hn::MaxLanes(d) * kRowsAtOnce) {
        const std::ptrdiff_t x = std::ptrdiff_t{i} * kBlockColumns;
#if HWY_TARGET == HWY_AVX3
        const __m512i a = _mm512_loadu_si512(v[0] + x);
        const __m512i b = _mm512_loadu_si512(v[1] + x);
        const __m512i c = _mm512_loadu_si512(v[2] + x);
        const __m512i e = _mm512_loadu_si512(v[3] + x);
        const __m512i ab01 = _mm512_shuffle_i32x4(a, b, 0x44);
        const __m512i ce01 = _mm512_shuffle_i32x4(c, e, 0x44);
        const __m512i ab23 = _mm512_shuffle_i32x4(a, b, 0xEE);
        const __m512i ce23 = _mm512_shuffle_i32x4(c, e, 0xEE);
        _mm512_storeu_si512(blocks, _mm512_shuffle_i32x4(ab01, ce01, 0x88));
        _mm512_storeu_si512(blocks + 32, _mm512_shuffle_i32x4(ab01, ce01, 0xDD));
        _mm512_storeu_si512(blocks + 64, _mm512_shuffle_i32x4(ab23, ce23, 0x88));
        _mm512_storeu_si512(blocks + 96, _mm512_shuffle_i32x4(ab23, ce23, 0xDD));
#elif HWY_TARGET == HWY_AVX2
        const auto a = hn::LoadU(d, v[0] + x);
        const auto b = hn::LoadU(d, v[1] + x);
        hn::StoreU(hn::ConcatLowerLower(d, b, a), d, blocks);
        hn::StoreU(hn::ConcatUpperUpper(d, b, a), d, blocks + 16);
#else
        hn::StoreU(hn::LoadU(d, v[0] + x), d, blocks);
#endif
    }
}

/// The dot products of one output, each in the four lanes of its row's block, still to be added up. `kSure` chunks
/// belong to every output; 0: `chunks` - 1 do.
template <int kSure>
HWY_INLINE hn::Vec<D32> dot_lanes(const std::int16_t* blocks, const std::int16_t* coefs, int chunks, bool has_last) {
    const D16 d;
    auto sum = hn::Zero(D32());
    const int sure = kSure != 0 ? kSure : chunks - 1;
    for (int k = 0; k < sure; ++k, blocks += hn::MaxLanes(d), coefs += kBlockColumns) {
        sum = add_pairs(sum, hn::LoadU(d, blocks), hn::LoadDup128(d, coefs));
    }
    if (has_last) sum = add_pairs(sum, hn::LoadU(d, blocks), hn::LoadDup128(d, coefs));
    return sum;
}

/// Four outputs, side by side in the block of each row.
HWY_INLINE hn::Vec<D32> add_lanes(hn::Vec<D32> s0, hn::Vec<D32> s1, hn::Vec<D32> s2, hn::Vec<D32> s3) {
    const D32 d32;
    const hn::RepartitionToWide<D32> d64;
    const auto a = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d32, s0, s1), hn::InterleaveUpper(d32, s0, s1)));
    const auto b = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d32, s2, s3), hn::InterleaveUpper(d32, s2, s3)));
    const auto sum =
        hn::Add(hn::BitCast(d32, hn::InterleaveLower(d64, a, b)), hn::BitCast(d32, hn::InterleaveUpper(d64, a, b)));
    return hn::ShiftRight<14>(hn::Add(sum, hn::Set(d32, 8192)));
}

/// Each block to its row.
HWY_INLINE void store_blocks(hn::Vec<D16> blocks, const RowsAtOnce& p, int x) {
#if HWY_TARGET == HWY_AVX3
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p[0] + x), _mm512_castsi512_si128(blocks.raw));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p[1] + x), _mm512_extracti32x4_epi32(blocks.raw, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p[2] + x), _mm512_extracti32x4_epi32(blocks.raw, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p[3] + x), _mm512_extracti32x4_epi32(blocks.raw, 3));
#elif HWY_TARGET == HWY_AVX2
    const hn::Half<D16> half;
    hn::StoreU(hn::LowerHalf(half, blocks), half, p[0] + x);
    hn::StoreU(hn::UpperHalf(half, blocks), half, p[1] + x);
#else
    hn::StoreU(blocks, D16(), p[0] + x);
#endif
}

template <int kSure>
HWY_INLINE void dot_rows(const DotRows& rows, const std::int16_t* HWY_RESTRICT blocks, const RowsAtOnce& p) {
    const int stride = (kSure != 0 ? kSure + 1 : rows.chunks) * kBlockColumns;
    const std::int16_t* coefs = rows.coefs;
    for (int x = 0; x < rows.num_outputs; x += kDotOutputs) {
        const auto one = [&](int i) HWY_ATTR {
            const auto* const from = blocks + rows.offset[x + i];
            return dot_lanes<kSure>(from, coefs + i * stride, rows.chunks, rows.has_last_chunk[x + i] != 0);
        };
        const auto low = add_lanes(one(0), one(1), one(2), one(3));
        const auto high = add_lanes(one(4), one(5), one(6), one(7));
        store_blocks(join_pairs(low, high), p, x);
        coefs += kDotOutputs * stride;
    }
}

inline void dot(const DotRows& rows, const std::int16_t* blocks, const RowsAtOnce& p) {
    switch (rows.chunks) {
        case 2:
            return dot_rows<1>(rows, blocks, p);
        case 3:
            return dot_rows<2>(rows, blocks, p);
        case 4:
            return dot_rows<3>(rows, blocks, p);
        default:
            return dot_rows<0>(rows, blocks, p);
    }
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
