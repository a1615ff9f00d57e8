// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// The few operations of the kernels that C++ has no word for. On the device each is one or two instructions; elsewhere
// plain C++ computes the same bits, so that the kernels' source runs on a CPU too and is tested against image/ref
// there.

#if defined(__CUDACC__)
#define TRICODEC_KERNEL __host__ __device__ __forceinline__
#define TRICODEC_UNROLL _Pragma("unroll")
#define TRICODEC_NO_UNROLL _Pragma("unroll 1")
#else
#define TRICODEC_KERNEL inline
#define TRICODEC_UNROLL
#define TRICODEC_NO_UNROLL
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

/// sum and the products of four unsigned bytes with four others.
TRICODEC_KERNEL std::uint32_t dot_bytes(std::uint32_t bytes, std::uint32_t weights, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
    return __dp4a(bytes, weights, sum);
#else
    for (unsigned i = 0; i < 32; i += 8) sum += (bytes >> i & 0xFFU) * (weights >> i & 0xFFU);
    return sum;
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

// Float operations, rounded to nearest even, never contracted (docs/transform.md 5.3).

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

/// a * b + c, rounded once. The exact value must fit a double.
TRICODEC_KERNEL float fused(float a, float b, float c) {
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

/// What pack_floors() takes is times this: a small number, but none of the smallest, so that fractions are kept.
inline constexpr float kFloorUnit = 0x1p-24F;

/// The floors of four values, given times kFloorUnit, as bytes, each clamped to 0..255; `a` comes first in memory.
TRICODEC_KERNEL std::uint32_t pack_floors(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
    // Times the last place of the smallest floats, whose bits are integers, negative ones' too.
    const auto floor_of = [](float value) { return __float_as_int(__fmul_rd(value, 0x1p-125F)); };
#else
    const auto floor_of = [](float value) { return static_cast<std::int32_t>(std::floor(value / kFloorUnit)); };
#endif
    return pack_bytes(floor_of(a), floor_of(b), floor_of(c), floor_of(d));
}

}  // namespace tricodec::image::gpu
