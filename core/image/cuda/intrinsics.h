// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "image/half.h"

// Operations of the kernels that C++ lacks. On the device each is one or two instructions. Elsewhere plain C++ computes
// the same bits, so that the kernels' source runs on a CPU too and is tested there against image/ref.

#if defined(__CUDACC__)
#define TRICODEC_KERNEL __host__ __device__ __forceinline__
#define TRICODEC_UNROLL _Pragma("unroll")
#else
#define TRICODEC_KERNEL inline
#define TRICODEC_UNROLL
#endif

namespace tricodec::image::gpu {

struct alignas(8) Words2 {
    std::uint32_t w[2];
};

struct alignas(16) Words4 {
    std::uint32_t w[4];
};

/// A value at any address that is a multiple of its size.
template <typename Value>
TRICODEC_KERNEL Value load(const void* from) {
#if defined(__CUDA_ARCH__)
    return *static_cast<const Value*>(from);
#else
    Value value;
    std::memcpy(&value, from, sizeof(value));
    return value;
#endif
}

template <typename Value>
TRICODEC_KERNEL void store(void* to, Value value) {
#if defined(__CUDA_ARCH__)
    *static_cast<Value*>(to) = value;
#else
    std::memcpy(to, &value, sizeof(value));
#endif
}

/// Whether an address is a multiple of a power of two.
TRICODEC_KERNEL bool is_aligned(const void* address, unsigned to) {
    return (static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address)) & (to - 1U)) == 0;
}

/// Byte i of the result is byte (selector >> 4 * i) & 7 of b:a.
TRICODEC_KERNEL std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
    return __byte_perm(a, b, selector);
#else
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const auto byte = static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * i) & 7U))) & 0xFFU;
        result |= byte << (8 * i);
    }
    return result;
#endif
}

/// Bytes kByte and kByte + 1 of four integers: a word of the low ones, a word of the high ones.
template <int kByte>
TRICODEC_KERNEL void split_bytes(const std::int32_t (&v)[4], std::uint32_t& lows, std::uint32_t& highs) {
    constexpr std::uint32_t kPairs = 0x5140 + 0x1111 * kByte;
    const std::uint32_t first = permute(static_cast<std::uint32_t>(v[0]), static_cast<std::uint32_t>(v[1]), kPairs);
    const std::uint32_t second = permute(static_cast<std::uint32_t>(v[2]), static_cast<std::uint32_t>(v[3]), kPairs);
    lows = permute(first, second, 0x5410);
    highs = permute(first, second, 0x7632);
}

/// The low word of (high:low) >> bits, 0 <= bits < 32.
TRICODEC_KERNEL std::uint32_t funnel_shift(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(low, high, bits);
#else
    return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> bits);
#endif
}

/// sum + coefs.low16 * bytes[0] + coefs.high16 * bytes[1], coefficients signed, bytes unsigned.
TRICODEC_KERNEL std::int32_t dot_low(std::uint32_t coefs, std::uint32_t bytes, std::int32_t sum) {
#if defined(__CUDA_ARCH__)
    asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(coefs), "r"(bytes));
    return sum;
#else
    return sum + static_cast<std::int16_t>(coefs) * static_cast<std::uint8_t>(bytes) +
           static_cast<std::int16_t>(coefs >> 16) * static_cast<std::uint8_t>(bytes >> 8);
#endif
}

/// The same with bytes 2 and 3.
TRICODEC_KERNEL std::int32_t dot_high(std::uint32_t coefs, std::uint32_t bytes, std::int32_t sum) {
#if defined(__CUDA_ARCH__)
    asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(coefs), "r"(bytes));
    return sum;
#else
    return dot_low(coefs, bytes >> 16, sum);
#endif
}

/// sum + pair.low16 * weights[0] + pair.high16 * weights[1], all unsigned; weights are the two low bytes.
TRICODEC_KERNEL std::uint32_t dot_words(std::uint32_t pair, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
    asm("dp2a.lo.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(weights));
    return sum;
#else
    return sum + (pair & 0xFFFFU) * (weights & 0xFFU) + (pair >> 16) * (weights >> 8 & 0xFFU);
#endif
}

/// The dot product of four coefficients and four signed bytes.
TRICODEC_KERNEL std::int32_t dot_signed(Words2 coefs, std::uint32_t bytes, std::int32_t sum) {
#if defined(__CUDA_ARCH__)
    asm("dp2a.lo.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(coefs.w[0]), "r"(bytes));
    asm("dp2a.hi.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(coefs.w[1]), "r"(bytes));
    return sum;
#else
    for (unsigned i = 0; i < 4; ++i) {
        sum += static_cast<std::int16_t>(coefs.w[i / 2] >> (16 * (i % 2))) * static_cast<std::int8_t>(bytes >> (8 * i));
    }
    return sum;
#endif
}

/// Four integers as bytes, each clamped to 0..255; `a` comes first in memory.
TRICODEC_KERNEL std::uint32_t pack_bytes(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
#if defined(__CUDA_ARCH__)
    std::uint32_t high = 0;
    std::uint32_t result = 0;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(b), "r"(a), "r"(high));
    return result;
#else
    const auto clamped = [](std::int32_t value) {
        return static_cast<std::uint32_t>(value < 0 ? 0 : value > 255 ? 255 : value);
    };
    return clamped(a) | clamped(b) << 8 | clamped(c) << 16 | clamped(d) << 24;
#endif
}

// Float operations, rounded to nearest even, never contracted (docs/reference/transform.md 5.3).

TRICODEC_KERNEL float add(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fadd_rn(a, b);
#else
    return a + b;
#endif
}

TRICODEC_KERNEL float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/// a * b + c for values that make it exact, so that fusing or not is the same.
TRICODEC_KERNEL float multiply_add_exact(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return static_cast<float>(static_cast<double>(a) * b + c);
#endif
}

/// `value` is no NaN.
TRICODEC_KERNEL float clamp(float value, float low, float high) {
#if defined(__CUDA_ARCH__)
    return fminf(fmaxf(value, low), high);
#else
    return value < low ? low : value > high ? high : value;
#endif
}

TRICODEC_KERNEL float float_of_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
#endif
}

TRICODEC_KERNEL std::uint32_t bits_of_float(float value) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(value);
#else
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
#endif
}

/// Two floats as IEEE binary16, to nearest even; `a` comes first in memory.
TRICODEC_KERNEL std::uint32_t half_pair(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t pair = 0;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    return pair;
#elif defined(__CUDA_ARCH__)
    std::uint16_t low = 0;
    std::uint16_t high = 0;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(low) : "f"(a));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(high) : "f"(b));
    return low | std::uint32_t{high} << 16;
#else
    return float_to_half(a) | std::uint32_t{float_to_half(b)} << 16;
#endif
}

/// Two floats as bfloat16, to nearest even; `a` comes first in memory. Neither is a NaN.
TRICODEC_KERNEL std::uint32_t bfloat_pair(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t pair = 0;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    return pair;
#else
    return float_to_bfloat16(a) | std::uint32_t{float_to_bfloat16(b)} << 16;
#endif
}

// Runs of words and bytes.

/// kWords words from a multiple of their size or of 16, in as few loads as possible.
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

template <int kFirst>
TRICODEC_KERNEL Words4 shift_words(const std::uint32_t (&all)[8], std::uint32_t bits) {
    Words4 word;
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) word.w[i] = funnel_shift(all[kFirst + i], all[kFirst + i + 1], bits);
    return word;
}

/// Sixteen bytes from any address in aligned words of 16 bytes; up to 15 bytes on either side are read too. Threads
/// with addresses that are multiples of 16 apart take the same branch.
TRICODEC_KERNEL Words4 load_shifted_16(const unsigned char* from) {
    const auto apart = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from)) % 16;
    if (apart == 0) return load<Words4>(from);
    std::uint32_t all[8];
    load_words(from - apart, all);
    const std::uint32_t bits = apart % 4 * 8;
    switch (apart / 4) {
        case 0:
            return shift_words<0>(all, bits);
        case 1:
            return shift_words<1>(all, bits);
        case 2:
            return shift_words<2>(all, bits);
        default:
            return shift_words<3>(all, bits);
    }
}

/// Copies a run of bytes from shared to global memory by the 32 lanes of a warp, in 16-byte words of the destination
/// wherever it begins. Bytes beside `from` may be read too: those of the aligned words of 16 bytes that it touches.
TRICODEC_KERNEL void copy_run(unsigned char* to, const unsigned char* from, int num_bytes, int lane) {
    int head = static_cast<int>((16U - static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to))) & 15U);
    if (head > num_bytes) head = num_bytes;
    const int words = (num_bytes - head) / 16;
    const int tail = head + words * 16;
    if (lane < head) to[lane] = from[lane];
    if (tail + lane < num_bytes) to[tail + lane] = from[tail + lane];
    for (int i = lane; i < words; i += 32) store(to + head + 16 * i, load_shifted_16(from + head + 16 * i));
}

}  // namespace tricodec::image::gpu
