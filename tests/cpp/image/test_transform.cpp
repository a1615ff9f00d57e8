// SPDX-License-Identifier: Apache-2.0
// Transform against numbers worked out by hand from docs/reference/transform.md. The numpy restatement covers the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "transform_testing.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using testing::Bytes;
using testing::error_of;
using testing::flat_frame;
using testing::make_frame;
using testing::run;
using testing::run_float;
using testing::values_of;

TransformOptions gray_to(int width, Resize resize, bool antialias) {
    TransformOptions options;
    options.color = OutputColor::gray;
    options.size = Size{1, width};
    options.resize = resize;
    options.antialias = antialias;
    return options;
}

TEST(Transform, converts_limited_bt601_with_the_documented_integers) {
    // R = (4160 * 9539 + 7168 * 13075 + 2^18) >> 19 = 133665984 >> 19; G and B are just below 1 and below 0.
    const Frame frame = make_frame(PixelFormat::yuv444p, 1, 1, {{81}, {90}, {240}});

    EXPECT_EQ(run({}, frame), (Bytes{254, 0, 0}));
}

TEST(Transform, antialiases_by_widening_the_triangle_and_repeating_the_border) {
    // Weights of output 0: 1, 3/4, 1/4 over 2: 62.5. Output 1 mirrored: 112.5. Half rounds up.
    const Frame frame = make_frame(PixelFormat::gray, 4, 1, {{0, 100, 200, 50}});

    EXPECT_EQ(run(gray_to(2, Resize::bilinear, true), frame), (Bytes{63, 113}));
}

TEST(Transform, overshoots_as_keys_cubic_with_a_minus_half) {
    // Border weights 1.0703125 and -0.0703125: 95.5. Inner ones 0.796875 and 0.203125: 113.
    const Frame frame = make_frame(PixelFormat::gray, 2, 1, {{100, 164}});

    EXPECT_EQ(run(gray_to(4, Resize::bicubic, true), frame), (Bytes{96, 113, 151, 169}));
    EXPECT_EQ(run(gray_to(4, Resize::bicubic, false), frame), (Bytes{96, 113, 151, 169}));
}

TEST(Transform, makes_the_same_of_parts_in_any_order_as_at_once) {
    std::vector<int> samples;
    for (int i = 0; i < 9 * 7; ++i) samples.push_back(i * 41 % 256);
    Frame frame = make_frame(PixelFormat::yuv444p, 9, 7, {samples, samples, samples});
    for (const int rotation : {0, 90, 180}) {
        frame.orientation.rotation_degrees = rotation;
        for (const int num_parts : {1, 2, 3, 40}) {  // of 40 parts most are empty
            const Transform transform;
            const Tensor whole = transform(frame);
            const Tensor parts = Tensor::empty(whole.view.shape, DType::uint8);
            for (int part = num_parts - 1; part >= 0; --part) transform.run_part(frame, parts.view, part, num_parts);

            EXPECT_EQ(values_of<std::uint8_t>(parts), values_of<std::uint8_t>(whole)) << rotation << " " << num_parts;
        }
    }
}

TEST(Transform, writes_only_the_elements_of_a_strided_output) {
    const Frame frame = make_frame(PixelFormat::rgb24, 2, 2, {{1, 2, 3, 4}, {11, 12, 13, 14}, {21, 22, 23, 24}});
    TransformOptions options;
    options.dtype = DType::float32;
    options.scale = 1.0F;
    // Rows from the bottom up, columns 20 bytes apart, channels 4 apart, at an odd address.
    Bytes memory(2 * 64 + 1, 0xAB);
    TensorView out{memory.data() + 1 + 64, DType::float32, Device{}, {2, 2, 3}, {-64, 20, 4}};

    Transform{options}(frame, out);

    Bytes expected(memory.size(), 0xAB);
    for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t x = 0; x < 2; ++x) {
            for (std::size_t c = 0; c < 3; ++c) {
                const auto value = static_cast<float>(10 * c + 2 * y + x + 1);
                std::memcpy(expected.data() + 1 + (1 - y) * 64 + x * 20 + c * 4, &value, sizeof(value));
            }
        }
    }
    EXPECT_EQ(memory, expected);
}

TEST(Transform, gives_the_same_bytes_from_several_threads_with_changing_sizes) {
    TransformOptions options;
    options.size = Size{7, 9};
    const Transform transform(options);
    std::vector<Frame> frames;
    std::vector<Bytes> expected;
    for (int width = 1; width <= 12; ++width) {  // more than the plans that are kept
        std::vector<int> samples;
        for (int i = 0; i < width * 5; ++i) samples.push_back(i * 37 % 256);
        frames.push_back(make_frame(PixelFormat::yuv444p, width, 5, {samples, samples, samples}));
        expected.push_back(run(options, frames.back()));
    }
    std::vector<int> wrong(3, 0);
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < wrong.size(); ++number) {
        threads.emplace_back([&, number] {
            for (std::size_t i = 0; i < 20 * frames.size(); ++i) {
                const std::size_t at = (i * (number + 1)) % frames.size();
                wrong[number] += values_of<std::uint8_t>(transform(frames[at])) != expected[at];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace tricodec
