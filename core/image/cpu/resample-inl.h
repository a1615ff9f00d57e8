// SPDX-License-Identifier: Apache-2.0
// Sections 4.2 and 4.3 of docs/reference/transform.md; compiled once for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_RESAMPLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_RESAMPLE_INL_H
#undef TRICODEC_IMAGE_CPU_RESAMPLE_INL_H
#else
#define TRICODEC_IMAGE_CPU_RESAMPLE_INL_H
#endif

#include <cstdint>
#include <cstring>
#include <span>

#include "image/cpu/kernels.h"
#include "image/cpu/pairs-inl.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Samples as int16. Those of 16 bits lose 32768, which `vertical` gives back: coefficients add up to 16384.
struct ByteSamples {
    static constexpr int kBytes = 1;
    explicit ByteSamples(const VerticalRow&) {}
    HWY_INLINE hn::Vec<D16> operator()(const std::byte* at) const {
        const D16 d;
        const hn::Rebind<std::uint8_t, D16> d8;
        return hn::PromoteTo(d, hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(at)));
    }
    HWY_INLINE std::int32_t one(const std::byte* at) const { return std::to_integer<std::int32_t>(*at); }
};

struct WordSamples {
    static constexpr int kBytes = 2;
    explicit WordSamples(const VerticalRow& row) : shift(row.shift), flip(row.depth == 16 ? 0x8000 : 0) {}
    HWY_INLINE hn::Vec<D16> operator()(const std::byte* at) const {
        const hn::RebindToUnsigned<D16> du;
        const auto words = hn::LoadU(du, reinterpret_cast<const std::uint16_t*>(at));
        return hn::BitCast(D16(), hn::Xor(hn::ShiftRightSame(words, shift), hn::Set(du, flip)));
    }
    HWY_INLINE std::int32_t one(const std::byte* at) const {
        std::uint16_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        return static_cast<std::int16_t>((word >> shift) ^ flip);
    }
    int shift;
    std::uint16_t flip;
};

/// What the int32 sum starts with: the rounding, and what 16-bit samples lost.
HWY_INLINE std::int32_t start_of_sum(const VerticalRow& row) {
    return (1 << (row.depth - 1)) + (row.depth == 16 ? 32768 * 16384 : 0);
}

template <typename Samples>
HWY_INLINE void vertical_narrow(const VerticalRow& row, const Samples& samples, std::int16_t* v) {
    for (int x = 0; x < row.width; ++x) {
        std::int32_t sum = start_of_sum(row);
        const std::byte* at = row.data + std::ptrdiff_t{x} * Samples::kBytes;
        for (int k = 0; k < row.num_taps; ++k, at += row.stride_bytes) sum += samples.one(at) * row.coefs[k];
        v[x] = static_cast<std::int16_t>(sum >> row.depth);
    }
}

/// V of one vector of columns where every coefficient is a multiple of 2^depth: whole numbers, no rounding, and int16
/// wraps round to the right result whatever the partial sums.
template <typename Samples>
HWY_INLINE hn::Vec<D16> vertical_whole(const VerticalRow& row, const Samples& samples, const std::byte* at) {
    const D16 d;
    auto sum = hn::Zero(d);
    for (int k = 0; k < row.num_taps; ++k, at += row.stride_bytes) {
        sum = hn::Add(sum, hn::Mul(samples(at), hn::Set(d, static_cast<std::int16_t>(row.coefs[k] >> row.depth))));
    }
    return sum;
}

/// The same for any coefficients: two rows at a time, int32 sums; kVectors side by side share the loop.
template <int kVectors, typename Samples>
HWY_INLINE void vertical_pairs(const VerticalRow& row, const Samples& samples, const std::byte* at, std::int16_t* v) {
    const D16 d;
    const D32 d32;
    constexpr bool kTwo = kVectors == 2;
    const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(hn::Lanes(d)) * Samples::kBytes;
    auto low0 = hn::Set(d32, start_of_sum(row));
    auto high0 = low0;
    auto low1 = low0;
    auto high1 = low0;
    const auto add = [&](const std::byte* first, const std::byte* second, hn::Vec<D16> coefs) HWY_ATTR {
        const auto a0 = samples(first);
        const auto b0 = samples(second);
        low0 = add_pairs(low0, hn::InterleaveLower(d, a0, b0), coefs);
        high0 = add_pairs(high0, hn::InterleaveUpper(d, a0, b0), coefs);
        if constexpr (kTwo) {
            const auto a1 = samples(first + step);
            const auto b1 = samples(second + step);
            low1 = add_pairs(low1, hn::InterleaveLower(d, a1, b1), coefs);
            high1 = add_pairs(high1, hn::InterleaveUpper(d, a1, b1), coefs);
        }
    };
    int k = 0;
    for (; k + 1 < row.num_taps; k += 2, at += 2 * row.stride_bytes) {
        add(at, at + row.stride_bytes, set_pair(row.coefs[k], row.coefs[k + 1]));
    }
    if (k < row.num_taps) add(at, at, set_pair(row.coefs[k], 0));
    hn::StoreU(join_pairs(hn::ShiftRightSame(low0, row.depth), hn::ShiftRightSame(high0, row.depth)), d, v);
    if constexpr (kTwo) {
        const auto second = join_pairs(hn::ShiftRightSame(low1, row.depth), hn::ShiftRightSame(high1, row.depth));
        hn::StoreU(second, d, v + hn::Lanes(d));
    }
}

template <typename Samples>
HWY_INLINE void vertical_row(const VerticalRow& row, std::int16_t* HWY_RESTRICT v) {
    const D16 d;
    const Samples samples(row);
    const int step = static_cast<int>(hn::Lanes(d));
    if (row.width < step) return vertical_narrow(row, samples, v);

    bool whole = row.depth < 15;
    for (int k = 0; k < row.num_taps; ++k) whole = whole && (row.coefs[k] & ((1 << row.depth) - 1)) == 0;
    // The last vector ends with the row, over columns that are already done.
    const int last = row.width - step;
    if (whole && row.num_taps == 1) {
        const int up = 14 - row.depth;
        for (int x = 0;; x = x + step < last ? x + step : last) {
            hn::StoreU(hn::ShiftLeftSame(samples(row.data + x * Samples::kBytes), up), d, v + x);
            if (x == last) return;
        }
    }
    if (whole && row.num_taps == 2) {  // chroma of 4:2:0
        const auto q0 = hn::Set(d, static_cast<std::int16_t>(row.coefs[0] >> row.depth));
        const auto q1 = hn::Set(d, static_cast<std::int16_t>(row.coefs[1] >> row.depth));
        for (int x = 0;; x = x + step < last ? x + step : last) {
            const std::byte* at = row.data + x * Samples::kBytes;
            const auto second = hn::Mul(samples(at + row.stride_bytes), q1);
            hn::StoreU(hn::Add(hn::Mul(samples(at), q0), second), d, v + x);
            if (x == last) return;
        }
    }
    if (whole) {
        for (int x = 0;; x = x + step < last ? x + step : last) {
            hn::StoreU(vertical_whole(row, samples, row.data + x * Samples::kBytes), d, v + x);
            if (x == last) return;
        }
    }
    int x = 0;
    for (; x + 2 * step <= row.width; x += 2 * step) {
        vertical_pairs<2>(row, samples, row.data + x * Samples::kBytes, v + x);
    }
    if (x + step < row.width) vertical_pairs<1>(row, samples, row.data + x * Samples::kBytes, v + x);
    if (x < row.width) vertical_pairs<1>(row, samples, row.data + last * Samples::kBytes, v + last);
}

inline void vertical(const VerticalRow& row, std::int16_t* v) {
    row.bytes_per_sample == 1 ? vertical_row<ByteSamples>(row, v) : vertical_row<WordSamples>(row, v);
}

inline void split(const std::int16_t* v, int width, std::span<std::int16_t* const> parts) {
    const D16 d;
    const int step = static_cast<int>(hn::Lanes(d));
    hn::Vec<D16> a, b, c;
    if (parts.size() == 2) {
        int x = 0;
        for (; x + step <= width; x += step) {
            hn::LoadInterleaved2(d, v + 2 * x, a, b);
            hn::StoreU(a, d, parts[0] + x);
            hn::StoreU(b, d, parts[1] + x);
        }
        for (; x < width; ++x) {
            parts[0][x] = v[2 * x];
            parts[1][x] = v[2 * x + 1];
        }
        return;
    }
    int x = 0;
    for (; x + step <= width; x += step) {
        hn::LoadInterleaved3(d, v + 3 * x, a, b, c);
        hn::StoreU(a, d, parts[0] + x);
        hn::StoreU(b, d, parts[1] + x);
        hn::StoreU(c, d, parts[2] + x);
    }
    for (; x < width; ++x) {
        for (std::size_t i = 0; i < 3; ++i) parts[i][x] = v[3 * x + static_cast<int>(i)];
    }
}

enum class Pair { copy, mean, any };

HWY_INLINE Pair pair_kind(const std::array<std::int16_t, 2>& coefs) {
    if (coefs[0] == 16384 && coefs[1] == 0) return Pair::copy;
    return coefs[0] == 8192 && coefs[1] == 8192 ? Pair::mean : Pair::any;
}

template <Pair kPair>
HWY_INLINE hn::Vec<D16> two_taps(const std::int16_t* v, const std::array<std::int16_t, 2>& coefs) {
    const D16 d;
    const D32 d32;
    const auto a = hn::LoadU(d, v);
    if constexpr (kPair == Pair::copy) return a;
    const auto b = hn::LoadU(d, v + 1);
    if constexpr (kPair == Pair::mean) {  // (a + b + 1) >> 1, moved into the unsigned range that the instruction has
        const hn::RebindToUnsigned<D16> du;
        const auto flip = hn::Set(du, std::uint16_t{0x8000});
        const auto mean = hn::AverageRound(hn::Xor(hn::BitCast(du, a), flip), hn::Xor(hn::BitCast(du, b), flip));
        return hn::BitCast(d, hn::Xor(mean, flip));
    }
    const auto pair = set_pair(coefs[0], coefs[1]);
    const auto half = hn::Set(d32, 8192);
    return join_pairs(hn::ShiftRight<14>(add_pairs(half, hn::InterleaveLower(d, a, b), pair)),
                      hn::ShiftRight<14>(add_pairs(half, hn::InterleaveUpper(d, a, b), pair)));
}

template <Pair kEven, Pair kOdd>
HWY_INLINE void double_row(const DoubleRow& row, const std::int16_t* HWY_RESTRICT v, std::int16_t* HWY_RESTRICT p) {
    const D16 d;
    const int step = static_cast<int>(hn::Lanes(d));
    const auto one = [&](int i, std::size_t phase) {
        const std::int16_t* from = v + row.offset[phase] + i;
        const std::int32_t sum = from[0] * row.coefs[phase][0] + from[1] * row.coefs[phase][1] + 8192;
        return static_cast<std::int16_t>(sum >> 14);
    };
    int i = 0;
    for (; i + step <= row.num_pairs; i += step) {
        hn::StoreInterleaved2(two_taps<kEven>(v + row.offset[0] + i, row.coefs[0]),
                              two_taps<kOdd>(v + row.offset[1] + i, row.coefs[1]), d, p + 2 * i);
    }
    for (; i < row.num_pairs; ++i) {
        p[2 * i] = one(i, 0);
        p[2 * i + 1] = one(i, 1);
    }
}

inline void double_up(const DoubleRow& row, const std::int16_t* v, std::int16_t* p) {
    const Pair even = pair_kind(row.coefs[0]);
    const Pair odd = pair_kind(row.coefs[1]);
    if (even == Pair::copy && odd == Pair::mean) return double_row<Pair::copy, Pair::mean>(row, v, p);
    if (even == Pair::mean && odd == Pair::copy) return double_row<Pair::mean, Pair::copy>(row, v, p);
    double_row<Pair::any, Pair::any>(row, v, p);
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
