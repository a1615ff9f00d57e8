// SPDX-License-Identifier: Apache-2.0
// Section 10 of docs/reference/transform.md, RGB to YUV, by rows; compiled for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_RGB_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_RGB_INL_H
#undef TRICODEC_IMAGE_CPU_RGB_INL_H
#else
#define TRICODEC_IMAGE_CPU_RGB_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "image/cpu/pairs-inl.h"
#include "image/cpu/rgb_kernels.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void split_pixels(const std::byte* pixels, int step_bytes, int width,
                             const std::array<std::uint8_t*, 3>& parts) {
    const hn::ScalableTag<std::uint8_t> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto* from = reinterpret_cast<const std::uint8_t*>(pixels);
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
        hn::Vec<decltype(d)> a, b, c;
        if (step_bytes == 3) {
            hn::LoadInterleaved3(d, from + std::ptrdiff_t{3} * x, a, b, c);
        } else {
            hn::Vec<decltype(d)> unused;
            hn::LoadInterleaved4(d, from + std::ptrdiff_t{4} * x, a, b, c, unused);
        }
        hn::StoreU(a, d, parts[0] + x);
        hn::StoreU(b, d, parts[1] + x);
        hn::StoreU(c, d, parts[2] + x);
    }
    for (; x < width; ++x) {
        for (std::size_t i = 0; i < 3; ++i) parts[i][x] = from[std::ptrdiff_t{x} * step_bytes + static_cast<int>(i)];
    }
}

/// (coefs . components + bias) >> shift of eight-bit or twelve-bit components in 16-bit lanes, in their order.
HWY_INLINE hn::Vec<D16> weighted(hn::Vec<D16> r, hn::Vec<D16> g, hn::Vec<D16> b,
                                 const std::array<std::int16_t, 3>& coefs, std::int32_t bias, int shift, int largest) {
    const D16 d16;
    const D32 d32;
    const auto rg = set_pair(coefs[0], coefs[1]);
    const auto b0 = set_pair(coefs[2], 0);
    const auto zero = hn::Zero(d16);
    const auto start = hn::Set(d32, bias);
    const auto part = [&](hn::Vec<D16> pair, hn::Vec<D16> single) HWY_ATTR {
        return hn::ShiftRightSame(add_pairs(add_pairs(start, pair, rg), single, b0), shift);
    };
    const auto low = part(hn::InterleaveLower(d16, r, g), hn::InterleaveLower(d16, b, zero));
    const auto high = part(hn::InterleaveUpper(d16, r, g), hn::InterleaveUpper(d16, b, zero));
    // Interleaving within blocks and packing within blocks undo each other.
    return hn::Min(hn::ReorderDemote2To(d16, low, high), hn::Set(d16, static_cast<std::int16_t>(largest)));
}

/// `values` are 0..4095 in 16-bit lanes; the row has room for `count` of them only.
HWY_INLINE void store_samples(hn::Vec<D16> values, bool wide, int count, std::byte* out) {
    const D16 d16;
    const int lanes = static_cast<int>(hn::Lanes(d16));
    if (wide) {
        if (count >= lanes) {
            hn::StoreU(values, d16, reinterpret_cast<std::int16_t*>(out));
            return;
        }
        alignas(64) std::int16_t block[hn::MaxLanes(d16)];
        hn::StoreU(values, d16, block);
        std::memcpy(out, block, static_cast<std::size_t>(count) * 2);
        return;
    }
    const hn::Rebind<std::uint8_t, D16> d8;
    const auto bytes = hn::DemoteTo(d8, values);
    if (count >= lanes) {
        hn::StoreU(bytes, d8, reinterpret_cast<std::uint8_t*>(out));
        return;
    }
    alignas(64) std::uint8_t block[hn::MaxLanes(d8)];
    hn::StoreU(bytes, d8, block);
    std::memcpy(out, block, static_cast<std::size_t>(count));
}

HWY_INLINE void luma_row(const ForwardPlan& plan, const RgbRows& rows, int width, std::byte* out) {
    const D16 d16;
    const hn::Rebind<std::uint8_t, decltype(d16)> d8;
    const int lanes = static_cast<int>(hn::Lanes(d16));
    const bool wide = plan.largest > 255;
    for (int x = 0; x < width; x += lanes) {
        const auto load = [&](std::size_t c) HWY_ATTR { return hn::PromoteTo(d16, hn::LoadU(d8, rows[c] + x)); };
        const auto y =
            weighted(load(0), load(1), load(2), plan.coefs[0], plan.luma_bias, plan.luma_shift, plan.largest);
        store_samples(y, wide, width - x, out + (wide ? 2 : 1) * std::ptrdiff_t{x});
    }
}

HWY_INLINE void down_row(const std::array<int, 3>& weight, const std::array<const std::uint8_t*, 3>& rows, int width,
                         std::uint16_t* sums) {
    const hn::ScalableTag<std::uint16_t> d16;
    const hn::Rebind<std::uint8_t, decltype(d16)> d8;
    const int lanes = static_cast<int>(hn::Lanes(d16));
    for (int x = 0; x < width; x += lanes) {
        auto sum = hn::Zero(d16);
        for (std::size_t i = 0; i < 3; ++i) {
            if (weight[i] == 0) continue;
            const auto row = hn::PromoteTo(d16, hn::LoadU(d8, rows[i] + x));
            sum = hn::Add(sum, hn::Mul(row, hn::Set(d16, static_cast<std::uint16_t>(weight[i]))));
        }
        hn::StoreU(sum, d16, sums + x);
    }
}

HWY_INLINE void chroma_row(const ForwardPlan& plan, const SumRows& sums, int num_chroma, std::byte* u, std::byte* v) {
    const D16 d16;
    const int lanes = static_cast<int>(hn::Lanes(d16));
    const bool wide = plan.largest > 255;
    for (int x = 0; x < num_chroma; x += lanes) {
        const auto total = [&](std::size_t c) HWY_ATTR {
            const auto* row = reinterpret_cast<const std::int16_t*>(sums[c]);
            if (plan.log2_chroma_w == 0) return hn::ShiftLeft<2>(hn::LoadU(d16, row + x));
            hn::Vec<decltype(d16)> even, odd, before, unused;
            hn::LoadInterleaved2(d16, row + std::ptrdiff_t{2} * x, even, odd);
            if (plan.across.first == 0) return hn::ShiftLeft<1>(hn::Add(even, odd));
            // The sample before each even one: the odd one of the pair before it.
            hn::LoadInterleaved2(d16, row + std::ptrdiff_t{2} * x - 1, before, unused);
            return hn::Add(hn::Add(before, odd), hn::ShiftLeft<1>(even));
        };
        const auto r = total(0);
        const auto g = total(1);
        const auto b = total(2);
        const std::ptrdiff_t at = (wide ? 2 : 1) * std::ptrdiff_t{x};
        store_samples(weighted(r, g, b, plan.coefs[1], plan.chroma_bias, plan.chroma_shift, plan.largest), wide,
                      num_chroma - x, u + at);
        store_samples(weighted(r, g, b, plan.coefs[2], plan.chroma_bias, plan.chroma_shift, plan.largest), wide,
                      num_chroma - x, v + at);
    }
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
