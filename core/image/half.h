// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace tricodec::image {

/// The bits of the IEEE 754 binary16 nearest to `value`, ties to even: subnormals kept, overflow to infinity. What
/// vcvtps2ph and __float2half_rn compute, not-a-number's payload aside (a transform makes none).
[[nodiscard]] constexpr std::uint16_t float_to_half(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
    if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 2^16 and more

    // Normal numbers drop 13 bits of significand. Below 2^-14 the exponent stands still and more bits drop.
    const std::uint32_t exponent = magnitude >> 23;
    std::uint32_t kept = 0;
    std::uint32_t rest = 0;
    std::uint32_t half = 0;
    if (exponent >= 113) {
        kept = (magnitude - (112U << 23)) >> 13;
        rest = magnitude & 0x1FFFU;
        half = 0x1000U;
    } else {
        if (exponent < 102) return sign;  // below 2^-25, half of the smallest subnormal
        const std::uint32_t significand = (magnitude & 0x7FFFFFU) | 0x800000U;
        const std::uint32_t dropped = 126U - exponent;  // 14 to 24
        kept = significand >> dropped;
        rest = significand & ((1U << dropped) - 1U);
        half = 1U << (dropped - 1U);
    }
    if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;  // may carry into the exponent, up to infinity
    return static_cast<std::uint16_t>(sign | kept);
}

/// The bits of the bfloat16 nearest to `value`, ties to even: subnormals kept, overflow to infinity. `value` is a
/// number (a transform makes no other).
[[nodiscard]] constexpr std::uint16_t float_to_bfloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace tricodec::image
