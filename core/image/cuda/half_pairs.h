// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/half.h"

namespace tricodec::image::gpu {

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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
inline constexpr bool kClampsPairs = true;
#else
inline constexpr bool kClampsPairs = false;
#endif

/// Both values within their bounds, -0 below +0; only where kClampsPairs says so, else `pair` as it is.
TRICODEC_KERNEL std::uint32_t clamp_half_pair(std::uint32_t pair, [[maybe_unused]] std::uint32_t low,
                                              [[maybe_unused]] std::uint32_t high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("max.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(low));
    asm("min.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(high));
#endif
    return pair;
}

TRICODEC_KERNEL std::uint32_t clamp_bfloat_pair(std::uint32_t pair, [[maybe_unused]] std::uint32_t low,
                                                [[maybe_unused]] std::uint32_t high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("max.bf16x2 %0, %0, %1;" : "+r"(pair) : "r"(low));
    asm("min.bf16x2 %0, %0, %1;" : "+r"(pair) : "r"(high));
#endif
    return pair;
}

}  // namespace tricodec::image::gpu
