// SPDX-License-Identifier: Apache-2.0
// Products of int16 summed in pairs to int32, the one multiplication that all integer kernels are made of.
#if defined(TRICODEC_IMAGE_CPU_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_PAIRS_INL_H
#undef TRICODEC_IMAGE_CPU_PAIRS_INL_H
#else
#define TRICODEC_IMAGE_CPU_PAIRS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::int16_t>;
using D32 = hn::ScalableTag<std::int32_t>;

/// sum[i] + a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1].
template <class Sum, class Factor>
HWY_INLINE Sum add_pairs(Sum sum, Factor a, Factor b) {
    const hn::DFromV<Sum> d32;
#if HWY_ARCH_X86
    auto unused = hn::Zero(d32);  // pmaddwd: on x86 the operation is exactly this and leaves its second sum alone
    return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
#else  // elsewhere it may pair other lanes
    const auto a32 = hn::BitCast(d32, a);
    const auto b32 = hn::BitCast(d32, b);
    const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
    return hn::Add(sum, hn::Add(even, hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32))));
#endif
}

/// (a, b) again and again, as add_pairs expects it.
HWY_INLINE hn::Vec<D16> set_pair(std::int16_t a, std::int16_t b) {
    const std::uint32_t both = static_cast<std::uint16_t>(a) | std::uint32_t{static_cast<std::uint16_t>(b)} << 16;
    return hn::BitCast(D16(), hn::Set(D32(), static_cast<std::int32_t>(both)));
}

/// Both vectors, the first one's columns first, clamped to 0..255.
HWY_INLINE hn::Vec<hn::ScalableTag<std::uint8_t>> join_bytes(hn::Vec<D16> low, hn::Vec<D16> high) {
    using D8 = hn::ScalableTag<std::uint8_t>;
#if HWY_TARGET == HWY_AVX3  // two instructions for the five of two demotions and Combine
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return hn::Vec<D8>{_mm512_permutexvar_epi64(order, _mm512_packus_epi16(low.raw, high.raw))};
#elif HWY_TARGET == HWY_AVX2
    return hn::Vec<D8>{_mm256_permute4x64_epi64(_mm256_packus_epi16(low.raw, high.raw), 0xD8)};
#else
    const hn::Rebind<std::uint8_t, D16> half;
    return hn::Combine(D8(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

/// The same where the first vector has the even blocks of 8 columns and the second one the odd ones.
HWY_INLINE hn::Vec<hn::ScalableTag<std::uint8_t>> join_blocks(hn::Vec<D16> even, hn::Vec<D16> odd) {
#if HWY_TARGET == HWY_AVX3
    return hn::Vec<hn::ScalableTag<std::uint8_t>>{_mm512_packus_epi16(even.raw, odd.raw)};
#elif HWY_TARGET == HWY_AVX2
    return hn::Vec<hn::ScalableTag<std::uint8_t>>{_mm256_packus_epi16(even.raw, odd.raw)};
#else
    return join_bytes(even, odd);  // vectors of one block
#endif
}

/// Of two vectors in the order of the columns, the even blocks of 8 columns and the odd ones: see join_blocks.
HWY_INLINE hn::Vec<D16> even_blocks(hn::Vec<D16> first, hn::Vec<D16> second) {
#if HWY_TARGET == HWY_AVX3
    const __m512i order = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
    return hn::Vec<D16>{_mm512_permutex2var_epi64(first.raw, order, second.raw)};
#elif HWY_TARGET == HWY_AVX2
    return hn::ConcatLowerLower(D16(), second, first);
#else
    static_cast<void>(second);
    return first;
#endif
}

HWY_INLINE hn::Vec<D16> odd_blocks(hn::Vec<D16> first, hn::Vec<D16> second) {
#if HWY_TARGET == HWY_AVX3
    const __m512i order = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
    return hn::Vec<D16>{_mm512_permutex2var_epi64(first.raw, order, second.raw)};
#elif HWY_TARGET == HWY_AVX2
    return hn::ConcatUpperUpper(D16(), second, first);
#else
    static_cast<void>(first);
    return second;
#endif
}

/// From results of InterleaveLower and InterleaveUpper back to one vector in the order of the columns. Interleaving and
/// this demotion both work within blocks of 128 bits (or there is only one), so the second undoes the first.
HWY_INLINE hn::Vec<D16> join_pairs(hn::Vec<D32> low, hn::Vec<D32> high) {
    return hn::ReorderDemote2To(D16(), low, high);
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
