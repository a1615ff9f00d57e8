// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "image/half.h"

namespace tricodec::image {
namespace {

/// The value of a finite half, from its definition.
float value_of(std::uint16_t half) {
    const int exponent = (half >> 10) & 0x1F;
    const int significand = half & 0x3FF;
    if (exponent == 0) return std::ldexp(static_cast<float>(significand), -24);
    return std::ldexp(static_cast<float>(significand + 1024), exponent - 25);
}

TEST(Half, rounds_to_nearest_even_around_every_half) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr std::uint16_t kLargest = 0x7BFF;
    for (std::uint16_t half = 0; half <= kLargest; ++half) {
        const float value = value_of(half);
        // What would follow the largest half decides where infinity begins.
        const float next = half == kLargest ? 65536.0F : value_of(static_cast<std::uint16_t>(half + 1));
        const float middle = (value + next) / 2;
        const auto above = static_cast<std::uint16_t>(half + 1);

        ASSERT_EQ(float_to_half(value), half);
        ASSERT_EQ(float_to_half(-value), half | 0x8000);
        ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), half);
        ASSERT_EQ(float_to_half(middle), (half & 1) == 0 ? half : above);
        ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), above);
    }
    EXPECT_EQ(float_to_half(kInfinity), 0x7C00);
    EXPECT_EQ(float_to_half(-std::numeric_limits<float>::max()), 0xFC00);
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::quiet_NaN()) & 0x7E00, 0x7E00);
}

TEST(Bfloat16, rounds_to_nearest_even_around_every_bfloat16) {
    // The float with the upper half `word`: every bfloat16 is one.
    const auto value_of_word = [](std::uint32_t word) { return std::bit_cast<float>(word << 16); };
    constexpr std::uint16_t kLargest = 0x7F7F;
    for (std::uint16_t word = 0; word <= kLargest; ++word) {
        const float value = value_of_word(word);
        const float middle = std::bit_cast<float>((std::uint32_t{word} << 16) | 0x8000U);
        const auto above = static_cast<std::uint16_t>(word + 1);

        ASSERT_EQ(float_to_bfloat16(value), word);
        ASSERT_EQ(float_to_bfloat16(-value), word | 0x8000);
        ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, 0.0F)), word);
        ASSERT_EQ(float_to_bfloat16(middle), (word & 1) == 0 ? word : above);
        ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, std::numeric_limits<float>::infinity())), above);
    }
    EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7F80);
    EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::denorm_min()), 0);
    EXPECT_EQ(float_to_bfloat16(1.0F), 0x3F80);
}

}  // namespace
}  // namespace tricodec::image
