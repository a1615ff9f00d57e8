// SPDX-License-Identifier: Apache-2.0
// Sections 5 and 6 of docs/reference/transform.md: from rows of components to rows of channels; compiled for each
// instruction set.
#if defined(TRICODEC_IMAGE_CPU_COLOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_COLOR_INL_H
#undef TRICODEC_IMAGE_CPU_COLOR_INL_H
#else
#define TRICODEC_IMAGE_CPU_COLOR_INL_H
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "image/cpu/kernels.h"
#include "image/cpu/pairs-inl.h"

#ifndef TRICODEC_IMAGE_CPU_HALF
#define TRICODEC_IMAGE_CPU_HALF
namespace tricodec::image {
// These name the output type; its values are uint16.
struct Half {
    std::uint16_t bits;
};
struct Bfloat {
    std::uint16_t bits;
};
}  // namespace tricodec::image
#endif

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int32_t kNeutralChroma = 8192;

/// Stores whole vectors while they fit and the rest through a buffer, so that nothing after the row is touched.
/// `Row` gives kStep columns at a time: store(x, channel pointers).
template <typename Value, bool kInterleaved, int kChannels, int kStep, typename Row>
HWY_INLINE void for_columns(int width, const ChannelRows& out, const Row& row) {
    constexpr int kPerColumn = kInterleaved ? kChannels : 1;
    constexpr int kRows = kInterleaved ? 1 : kChannels;
    constexpr std::ptrdiff_t kColumnBytes = kPerColumn * sizeof(Value);
    std::array<std::byte*, 3> at = out.channel;
    int x = 0;
    for (; x + kStep <= width; x += kStep) {
        row.template store<kInterleaved>(x, at);
        for (int i = 0; i < kRows; ++i) at[i] += kStep * kColumnBytes;
    }
    if (x >= width) return;
    std::byte rest[kRows][kStep * kColumnBytes];
    std::array<std::byte*, 3> buffer{};
    for (int i = 0; i < kRows; ++i) buffer[i] = rest[i];
    row.template store<kInterleaved>(x, buffer);
    for (int i = 0; i < kRows; ++i) std::memcpy(at[i], rest[i], static_cast<std::size_t>((width - x) * kColumnBytes));
}

constexpr int kByteColumns = static_cast<int>(hn::MaxLanes(hn::ScalableTag<std::uint8_t>()));
constexpr int kWordColumns = kByteColumns / 2;
constexpr int kFloatColumns = kByteColumns / 4;

/// Vectors of bytes of the channels to where they stand.
template <bool kInterleaved, int kChannels>
HWY_INLINE void put_bytes(hn::Vec<hn::ScalableTag<std::uint8_t>> v0, hn::Vec<hn::ScalableTag<std::uint8_t>> v1,
                          hn::Vec<hn::ScalableTag<std::uint8_t>> v2, const std::array<std::byte*, 3>& out) {
    const hn::ScalableTag<std::uint8_t> d8;
    auto* to0 = reinterpret_cast<std::uint8_t*>(out[0]);
    if constexpr (kInterleaved) {
        hn::StoreInterleaved3(v0, v1, v2, d8, to0);
    } else {
        hn::StoreU(v0, d8, to0);
        if constexpr (kChannels == 1) return;
        hn::StoreU(v1, d8, reinterpret_cast<std::uint8_t*>(out[1]));
        hn::StoreU(v2, d8, reinterpret_cast<std::uint8_t*>(out[2]));
    }
}

/// A vector of each channel of a row of bytes.
template <int kChannels>
struct ByteRow {
    const ByteColor& color;
    const ComponentRows& p;

    using D8 = hn::ScalableTag<std::uint8_t>;

    HWY_INLINE hn::Vec<D32> sum(int channel, hn::Vec<D16> first, hn::Vec<D16> second) const {
        const auto& c = color.coefs[static_cast<std::size_t>(channel)];
        const auto bias = hn::Set(D32(), color.bias[static_cast<std::size_t>(channel)]);
        const auto two = add_pairs(bias, first, set_pair(c[0], c[1]));
        return add_pairs(two, second, set_pair(0, c[2]));
    }

    HWY_INLINE hn::Vec<D16> channel_of(int channel, hn::Vec<D16> a, hn::Vec<D16> b, hn::Vec<D16> c) const {
        const D16 d;
        const auto low = sum(channel, hn::InterleaveLower(d, a, b), hn::InterleaveLower(d, a, c));
        const auto high = sum(channel, hn::InterleaveUpper(d, a, b), hn::InterleaveUpper(d, a, c));
        return join_pairs(hn::ShiftRight<19>(low), hn::ShiftRight<19>(high));
    }

    template <bool kInterleaved>
    HWY_INLINE void store(int x, const std::array<std::byte*, 3>& out) const {
        const D16 d;
        const D8 d8;
        const auto a0 = hn::LoadU(d, p[0] + x);
        const auto a1 = hn::LoadU(d, p[0] + x + kWordColumns);
        const auto b0 = hn::LoadU(d, p[1] + x);
        const auto b1 = hn::LoadU(d, p[1] + x + kWordColumns);
        const auto c0 = hn::LoadU(d, p[2] + x);
        const auto c1 = hn::LoadU(d, p[2] + x + kWordColumns);
        put_bytes<kInterleaved, kChannels>(
            join_bytes(channel_of(0, a0, b0, c0), channel_of(0, a1, b1, c1)),
            kChannels == 1 ? hn::Zero(d8) : join_bytes(channel_of(1, a0, b0, c0), channel_of(1, a1, b1, c1)),
            kChannels == 1 ? hn::Zero(d8) : join_bytes(channel_of(2, a0, b0, c0), channel_of(2, a1, b1, c1)), out);
    }
};

/// Where all three channels have the same luma weight, as RGB of YUV does: the luma term is made once, in the even and
/// in the odd columns of a vector of words, and so are the sums; no column is moved but by whole words.
struct LumaColor {
    hn::Vec<D32> bias;
    hn::Vec<D16> luma_even;  // the pairs that leave a vector's even or odd columns
    hn::Vec<D16> luma_odd;
    hn::Vec<D16> chroma0;
    hn::Vec<D16> chroma1;
    hn::Vec<D16> chroma2;

    /// The luma and chroma that `channel` is given are P and P - 8192.
    HWY_INLINE explicit LumaColor(const ByteColor& color)
        : bias(hn::Set(D32(), color.bias[0] + kNeutralChroma * (color.coefs[0][1] + color.coefs[0][2]))),
          luma_even(set_pair(color.coefs[0][0], 0)),
          luma_odd(set_pair(0, color.coefs[0][0])),
          chroma0(set_pair(color.coefs[0][1], color.coefs[0][2])),
          chroma1(set_pair(color.coefs[1][1], color.coefs[1][2])),
          chroma2(set_pair(color.coefs[2][1], color.coefs[2][2])) {}

    struct Sums {
        hn::Vec<D32> even;
        hn::Vec<D32> odd;
    };
    HWY_INLINE Sums luma(hn::Vec<D16> words) const {
        return {add_pairs(bias, words, luma_even), add_pairs(bias, words, luma_odd)};
    }
    /// One channel of the columns of `luma`, as words. `even` and `odd` hold pairs of both components of chroma.
    template <int kChannel>
    HWY_INLINE hn::Vec<D16> channel(const Sums& luma, hn::Vec<D16> even, hn::Vec<D16> odd) const {
        const auto coefs = kChannel == 0 ? chroma0 : kChannel == 1 ? chroma1 : chroma2;
        const auto sum_even = hn::ShiftRight<19>(add_pairs(luma.even, even, coefs));
        const auto sum_odd = hn::ShiftRight<3>(add_pairs(luma.odd, odd, coefs));  // the result is its upper half
        return hn::OddEven(hn::BitCast(D16(), sum_odd), hn::BitCast(D16(), sum_even));
    }
};

/// ByteRow of three channels of one luma weight.
struct LumaRow {
    const LumaColor color;
    const ComponentRows& p;

    struct Pairs {
        hn::Vec<D16> even;
        hn::Vec<D16> odd;
    };
    HWY_INLINE Pairs chroma(int x) const {
        const D16 d;
        const hn::RebindToUnsigned<D32> du32;
        const auto center = hn::Set(d, std::int16_t{kNeutralChroma});
        const auto u = hn::Sub(hn::LoadU(d, p[1] + x), center);
        const auto v = hn::Sub(hn::LoadU(d, p[2] + x), center);
        return {hn::OddEven(hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(du32, v))), u),
                hn::OddEven(v, hn::BitCast(d, hn::ShiftRight<16>(hn::BitCast(du32, u))))};
    }

    template <bool kInterleaved>
    HWY_INLINE void store(int x, const std::array<std::byte*, 3>& out) const {
        const D16 d;
        const auto luma0 = color.luma(hn::LoadU(d, p[0] + x));
        const auto luma1 = color.luma(hn::LoadU(d, p[0] + x + kWordColumns));
        const Pairs pairs0 = chroma(x);
        const Pairs pairs1 = chroma(x + kWordColumns);
        put_bytes<kInterleaved, 3>(join_bytes(color.channel<0>(luma0, pairs0.even, pairs0.odd),
                                              color.channel<0>(luma1, pairs1.even, pairs1.odd)),
                                   join_bytes(color.channel<1>(luma0, pairs0.even, pairs0.odd),
                                              color.channel<1>(luma1, pairs1.even, pairs1.odd)),
                                   join_bytes(color.channel<2>(luma0, pairs0.even, pairs0.odd),
                                              color.channel<2>(luma1, pairs1.even, pairs1.odd)),
                                   out);
    }
};

/// The float's 16 bits. Hardware conversions round to nearest even and keep subnormals, as half.h does.
template <class DF>
HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, DF>> half_bits(DF, hn::Vec<DF> value) {
    const hn::Rebind<std::uint16_t, DF> du;
#if HWY_TARGET == HWY_SSE4
    const hn::RebindToSigned<DF> d32;
    const auto bits = hn::BitCast(d32, value);
    const auto sign = hn::And(bits, hn::Set(d32, std::numeric_limits<std::int32_t>::min()));
    const auto magnitude = hn::Xor(bits, sign);
    // Thirteen bits of significand drop, the exponent's bias is 112 less, and what rounds up may carry into it.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 1));
    const auto above = hn::Add(magnitude, hn::Set(d32, 0xFFF - (112 << 23)));
    const auto normal = hn::ShiftRight<13>(hn::Add(above, odd));
    // Below 2^-14 the last bit stands for 2^-24, as it does in floats from 0.5 on: the addition rounds.
    const auto half = hn::Set(DF(), 0.5F);
    const auto sum = hn::Add(hn::BitCast(DF(), magnitude), half);
    const auto subnormal = hn::Sub(hn::BitCast(d32, sum), hn::BitCast(d32, half));
    const auto small = hn::Lt(magnitude, hn::Set(d32, 113 << 23));
    const auto finite = hn::Min(hn::IfThenElse(small, subnormal, normal), hn::Set(d32, 0x7C00));  // or infinity
    const auto high = hn::ShiftRight<16>(hn::BitCast(hn::RebindToUnsigned<DF>(), sign));
    return hn::DemoteTo(du, hn::Or(finite, hn::BitCast(d32, high)));
#else
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::BitCast(du, hn::DemoteTo(d16, value));
#endif
}

/// The nearest bfloat16, as half.h says it in integers: the conversions of AVX-512 lose subnormals.
template <class DF>
HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, DF>> bfloat_bits(DF, hn::Vec<DF> value) {
    const hn::RebindToUnsigned<DF> du32;
    const hn::Rebind<std::uint16_t, DF> du16;
    const auto bits = hn::BitCast(du32, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du32, 1U));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du32, 0x7FFFU)), odd);
    const hn::RebindToSigned<decltype(du32)> d32;
    return hn::DemoteTo(du16, hn::BitCast(d32, hn::ShiftRight<16>(rounded)));
}

/// A vector of each channel of a row of floats, halves or bfloats.
template <typename Value, int kChannels>
struct FloatRow {
    const FloatColor& color;
    const ComponentRows& p;

    using DF = hn::ScalableTag<float>;

    HWY_INLINE hn::Vec<DF> component(std::size_t number, int x) const {
        const D32 d32;
        const hn::Rebind<std::int16_t, D32> d16;
        const auto value = hn::PromoteTo(d32, hn::LoadU(d16, p[number] + x));
        return hn::ConvertTo(DF(), hn::Sub(value, hn::Set(d32, color.offset[number])));
    }

    /// No operation fused with another; the order is the document's.
    HWY_INLINE hn::Vec<DF> channel_of(std::size_t channel, hn::Vec<DF> a, hn::Vec<DF> b, hn::Vec<DF> c) const {
        const DF d;
        const auto& k = color.factor[channel];
        const auto two = hn::Add(hn::Mul(a, hn::Set(d, k[0])), hn::Mul(b, hn::Set(d, k[1])));
        const auto sum = hn::Add(hn::Add(two, hn::Mul(c, hn::Set(d, k[2]))), hn::Set(d, color.bias[channel]));
        return hn::Min(hn::Max(sum, hn::Set(d, color.low[channel])), hn::Set(d, color.high[channel]));
    }

    template <bool kInterleaved>
    HWY_INLINE void store(int x, const std::array<std::byte*, 3>& out) const {
        const DF d;
        const auto a = component(0, x);
        const auto b = component(1, x);
        const auto c = component(2, x);
        if constexpr (kChannels == 1) {
            put(channel_of(0, a, b, c), out[0]);
        } else if constexpr (!kInterleaved) {
            for (std::size_t i = 0; i < 3; ++i) put(channel_of(i, a, b, c), out[i]);
        } else if constexpr (sizeof(Value) == 4) {
            hn::StoreInterleaved3(channel_of(0, a, b, c), channel_of(1, a, b, c), channel_of(2, a, b, c), d,
                                  reinterpret_cast<float*>(out[0]));
        } else {
            const hn::Rebind<std::uint16_t, DF> du;
            hn::StoreInterleaved3(words(channel_of(0, a, b, c)), words(channel_of(1, a, b, c)),
                                  words(channel_of(2, a, b, c)), du, reinterpret_cast<std::uint16_t*>(out[0]));
        }
    }

    HWY_INLINE void put(hn::Vec<DF> value, std::byte* to) const {
        const DF d;
        if constexpr (sizeof(Value) == 4) {
            hn::StoreU(value, d, reinterpret_cast<float*>(to));
        } else {
            const hn::Rebind<std::uint16_t, DF> du;
            hn::StoreU(words(value), du, reinterpret_cast<std::uint16_t*>(to));
        }
    }

    HWY_INLINE static hn::Vec<hn::Rebind<std::uint16_t, DF>> words(hn::Vec<DF> value) {
        if constexpr (std::is_same_v<Value, Bfloat>) return bfloat_bits(DF(), value);
        return half_bits(DF(), value);
    }
};

template <typename Value, typename Color>
void color_row(const Color& color, const ComponentRows& p, int width, const ChannelRows& out) {
    if constexpr (std::is_same_v<Value, std::uint8_t>) {
        if (color.num_channels == 1) {
            return for_columns<Value, false, 1, kByteColumns>(width, out, ByteRow<1>{color, p});
        }
        if (has_one_luma_weight(color)) {
            const LumaRow row{LumaColor(color), p};
            return out.interleaved ? for_columns<Value, true, 3, kByteColumns>(width, out, row)
                                   : for_columns<Value, false, 3, kByteColumns>(width, out, row);
        }
        const ByteRow<3> row{color, p};
        out.interleaved ? for_columns<Value, true, 3, kByteColumns>(width, out, row)
                        : for_columns<Value, false, 3, kByteColumns>(width, out, row);
    } else if (color.num_channels == 1) {
        for_columns<Value, false, 1, kFloatColumns>(width, out, FloatRow<Value, 1>{color, p});
    } else {
        const FloatRow<Value, 3> row{color, p};
        out.interleaved ? for_columns<Value, true, 3, kFloatColumns>(width, out, row)
                        : for_columns<Value, false, 3, kFloatColumns>(width, out, row);
    }
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
