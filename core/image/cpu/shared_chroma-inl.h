// SPDX-License-Identifier: Apache-2.0
// From 4:2:0 and 4:2:2 rows straight to rows of RGB bytes where nothing is resized: luma comes from the frame, and a
// sample of chroma is used for two columns as it is loaded; compiled for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_SHARED_CHROMA_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_SHARED_CHROMA_INL_H
#undef TRICODEC_IMAGE_CPU_SHARED_CHROMA_INL_H
#else
#define TRICODEC_IMAGE_CPU_SHARED_CHROMA_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "image/cpu/color-inl.h"
#include "image/cpu/kernels.h"
#include "image/cpu/pairs-inl.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// kMixed: chroma comes as pairs and columns keep their order. Otherwise vectors hold every other block of 8 columns:
/// what interleaving within blocks of 128 bits makes of rows of U and V, and what packing within blocks puts right.
template <bool kBytes, bool kMixed>
struct SharedRow {
    const LumaColor color;
    const std::byte* luma;
    std::array<const std::int16_t*, 2> chroma;
    int next;  // the other sample of a column between two: 1 place on, or 0 if samples repeat
    int down;  // luma words: to P
    int up;

    // Always made whole: GCC leaves the target out of a default constructor of vectors, and NEON's then fails to
    // inline.
    struct Words {
        hn::Vec<D16> first;
        hn::Vec<D16> second;
    };
    struct Pairs {
        Words first;
        Words second;
    };

    /// P of luma.
    HWY_INLINE Words luma_words(int x) const {
        const D16 d;
        const hn::RebindToUnsigned<D16> du;
        if constexpr (kBytes) {
            const auto* const from = reinterpret_cast<const std::uint8_t*>(luma) + x;
            if constexpr (kMixed) {
                const hn::Rebind<std::uint8_t, D16> half;
                return {hn::ShiftLeft<6>(hn::PromoteTo(d, hn::LoadU(half, from))),
                        hn::ShiftLeft<6>(hn::PromoteTo(d, hn::LoadU(half, from + kWordColumns)))};
            }
            const hn::ScalableTag<std::uint8_t> d8;
            const auto bytes = hn::LoadU(d8, from);
            const auto none = hn::Zero(d8);
            return {hn::BitCast(d, hn::ShiftRight<2>(hn::BitCast(du, hn::InterleaveLower(d8, none, bytes)))),
                    hn::BitCast(d, hn::ShiftRight<2>(hn::BitCast(du, hn::InterleaveUpper(d8, none, bytes))))};
        } else {
            const auto* const from = reinterpret_cast<const std::uint16_t*>(luma) + x;
            const auto a = hn::LoadU(du, from);
            const auto b = hn::LoadU(du, from + kWordColumns);
            const auto p0 = hn::BitCast(d, hn::ShiftLeftSame(hn::ShiftRightSame(a, down), up));
            const auto p1 = hn::BitCast(d, hn::ShiftLeftSame(hn::ShiftRightSame(b, down), up));
            if constexpr (kMixed) return {p0, p1};
            return {even_blocks(p0, p1), odd_blocks(p0, p1)};
        }
    }

    /// Of one component or of both in turns: what stands at each sample and between it and the next one.
    HWY_INLINE static Words at_and_between(const std::int16_t* from, int next) {
        const D16 d;
        const auto a = hn::LoadU(d, from);
        const auto b = hn::LoadU(d, from + next);
        const hn::RebindToUnsigned<D16> du;  // bilinear taps are not negative, nor is V
        const auto center = hn::Set(d, std::int16_t{kNeutralChroma});
        const auto mean = hn::AverageRound(hn::BitCast(du, a), hn::BitCast(du, b));
        return {hn::Sub(a, center), hn::Sub(hn::BitCast(d, mean), center)};
    }

    /// U and V of each sample side by side: at it, and between it and the next one.
    HWY_INLINE Pairs chroma_pairs(int x) const {
        if constexpr (kMixed) {
            return {at_and_between(chroma[0] + x, 2 * next), at_and_between(chroma[0] + x + kWordColumns, 2 * next)};
        } else {
            const D16 d;
            const Words u = at_and_between(chroma[0] + x / 2, next);
            const Words v = at_and_between(chroma[1] + x / 2, next);
            return {{hn::InterleaveLower(d, u.first, v.first), hn::InterleaveLower(d, u.second, v.second)},
                    {hn::InterleaveUpper(d, u.first, v.first), hn::InterleaveUpper(d, u.second, v.second)}};
        }
    }

    template <int kChannel>
    HWY_INLINE hn::Vec<hn::ScalableTag<std::uint8_t>> bytes(const LumaColor::Sums& luma0, const LumaColor::Sums& luma1,
                                                            const Words& pairs0, const Words& pairs1) const {
        const auto first = color.template channel<kChannel>(luma0, pairs0.first, pairs0.second);
        const auto second = color.template channel<kChannel>(luma1, pairs1.first, pairs1.second);
        if constexpr (kMixed) return join_bytes(first, second);
        return join_blocks(first, second);
    }

    template <bool kInterleaved>
    HWY_INLINE void store(int x, const std::array<std::byte*, 3>& out) const {
        const Words words = luma_words(x);
        const auto luma0 = color.luma(words.first);
        const auto luma1 = color.luma(words.second);
        const Pairs pairs = chroma_pairs(x);
        put_bytes<kInterleaved, 3>(bytes<0>(luma0, luma1, pairs.first, pairs.second),
                                   bytes<1>(luma0, luma1, pairs.first, pairs.second),
                                   bytes<2>(luma0, luma1, pairs.first, pairs.second), out);
    }
};

template <bool kInterleaved, bool kBytes, bool kMixed>
HWY_INLINE void shared_rows(const ByteColor& color, const SharedChromaRow& from, int width, const ChannelRows& out) {
    const SharedRow<kBytes, kMixed> row{LumaColor(color),      from.luma,  {from.chroma[0], from.chroma[1]},
                                        from.repeated ? 0 : 1, from.shift, 14 - from.depth};
    const int whole = width / kByteColumns * kByteColumns;
    for_columns<std::uint8_t, kInterleaved, 3, kByteColumns>(whole, out, row);
    if (whole == width) return;
    // Luma is in the frame: beyond its end nothing is read.
    constexpr int kSample = kBytes ? 1 : 2;
    std::byte luma[kByteColumns * kSample] = {};
    std::memcpy(luma, from.luma + std::ptrdiff_t{whole} * kSample, static_cast<std::size_t>((width - whole) * kSample));
    const int skipped = kMixed ? whole : whole / 2;
    const SharedRow<kBytes, kMixed> rest{row.color, luma,     {row.chroma[0] + skipped, row.chroma[1] + skipped},
                                         row.next,  row.down, row.up};
    ChannelRows after = out;
    for (int i = 0; i < (kInterleaved ? 1 : 3); ++i) {
        after.channel[static_cast<std::size_t>(i)] += whole * (kInterleaved ? 3 : 1);
    }
    for_columns<std::uint8_t, kInterleaved, 3, kByteColumns>(width - whole, after, rest);
}

template <bool kBytes, bool kMixed>
HWY_INLINE void shared_rows(const ByteColor& color, const SharedChromaRow& from, int width, const ChannelRows& out) {
    out.interleaved ? shared_rows<true, kBytes, kMixed>(color, from, width, out)
                    : shared_rows<false, kBytes, kMixed>(color, from, width, out);
}

inline void shared_chroma(const ByteColor& color, const SharedChromaRow& row, int width, const ChannelRows& out) {
    // The column after the last chroma sample stands on it: the mean of it and itself.
    if (row.mixed) {
        std::int16_t* const end = row.chroma[0] + 2 * row.num_chroma;
        end[0] = end[-2];
        end[1] = end[-1];
        return row.bytes_per_sample == 1 ? shared_rows<true, true>(color, row, width, out)
                                         : shared_rows<false, true>(color, row, width, out);
    }
    for (std::int16_t* const chroma : row.chroma) chroma[row.num_chroma] = chroma[row.num_chroma - 1];
    row.bytes_per_sample == 1 ? shared_rows<true, false>(color, row, width, out)
                              : shared_rows<false, false>(color, row, width, out);
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
