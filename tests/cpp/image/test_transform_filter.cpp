// SPDX-License-Identifier: Apache-2.0
// What docs/reference/transform.md section 4.4 builds its bounds on must hold for every output of every geometry.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "image/filter.h"

namespace tricodec::image {
namespace {

std::string text(const AxisGeometry& axis) {
    return std::to_string(axis.crop_start) + "+" + std::to_string(axis.crop_size) + " to " +
           std::to_string(axis.num_outputs) + ", log2 " + std::to_string(axis.log2_subsampling) + " from " +
           std::to_string(axis.first_sample);
}

void expect_sound(const AxisGeometry& axis, Resize resize, bool antialias) {
    const Filter filter = make_filter(axis, resize, antialias);
    const int end = axis.crop_start + axis.crop_size;
    const int past = ((end - 1) >> axis.log2_subsampling) + 1;  // the sample that covers the last pixel is the last one
    ASSERT_EQ(filter.num_outputs, axis.num_outputs);
    for (int i = 0; i < filter.num_outputs; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const int count = filter.count[at];
        const std::int16_t* taps = filter.taps(i);
        int sum = 0;
        int magnitude = 0;
        for (int k = 0; k < count; ++k) {
            sum += taps[k];
            magnitude += std::abs(taps[k]);
        }
        ASSERT_EQ(sum, kCoefOne) << text(axis);
        ASSERT_LE(magnitude, kMaxAbsCoefSum) << text(axis);
        ASSERT_NE(taps[0], 0) << text(axis);
        ASSERT_NE(taps[count - 1], 0) << text(axis);
        for (int k = count; k < filter.max_taps; ++k) ASSERT_EQ(taps[k], 0) << text(axis);
        ASSERT_GE(filter.first[at], axis.crop_start >> axis.log2_subsampling) << text(axis);
        ASSERT_LE(filter.first[at] + count, past) << text(axis);
        ASSERT_GE(filter.first[at], filter.begin);
        ASSERT_LE(filter.first[at] + count, filter.end);
    }
}

AxisGeometry random_axis(std::mt19937& random, int largest) {
    const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    AxisGeometry axis;
    axis.crop_start = number(0, largest);
    axis.crop_size = number(1, largest);
    axis.num_outputs = number(1, 3) == 1 ? number(1, 5) : number(1, largest);
    axis.log2_subsampling = number(0, 2);
    axis.first_sample = number(0, 2) * 0.5 * ((1 << axis.log2_subsampling) - 1);
    return axis;
}

TEST(TransformFilter, adds_up_to_one_and_keeps_its_bounds_at_random_ratios_and_sitings) {
    std::mt19937 random(7);
    for (int i = 0; i < 1500; ++i) {
        const AxisGeometry axis = random_axis(random, i % 10 == 0 ? 2000 : 60);
        for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic}) {
            expect_sound(axis, resize, i % 3 != 0);
        }
    }
}

TEST(TransformFilter, keeps_its_bounds_for_the_widest_reductions) {
    for (const int size : {2731, 5461, 7919, 10923, 16000, 16383, 16384}) {
        for (const int outputs : {1, 2, 3, 5}) {
            for (const Resize resize : {Resize::bilinear, Resize::bicubic}) {
                expect_sound({0, size, outputs, 0, 0.0}, resize, true);
                expect_sound({1, size - 1, outputs, 1, 0.5}, resize, true);
            }
        }
    }
}

TEST(TransformFilter, is_the_identity_where_nothing_moves) {
    for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic}) {
        const Filter luma = make_filter({3, 9, 9, 0, 0.0}, resize, true);
        EXPECT_TRUE(luma.identity);
        EXPECT_EQ(luma.begin, 3);
        EXPECT_EQ(luma.end, 12);
        EXPECT_EQ(luma.first, (std::vector<std::int32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11}));
        EXPECT_EQ(luma.count, std::vector<std::int32_t>(9, 1));
        EXPECT_EQ(luma.coefs, std::vector<std::int16_t>(9, kCoefOne));
        EXPECT_FALSE(make_filter({0, 4, 5, 0, 0.0}, resize, true).identity);
        EXPECT_FALSE(make_filter({0, 4, 4, 1, 0.0}, resize, true).identity);
    }
    // Half the size at left siting: chroma samples fall on every second luma pixel, not on the output's centres.
    EXPECT_FALSE(make_filter({0, 8, 4, 1, 0.0}, Resize::bilinear, true).identity);
    EXPECT_TRUE(make_filter({0, 8, 4, 1, 0.5}, Resize::bilinear, true).identity);
}

}  // namespace
}  // namespace tricodec::image
