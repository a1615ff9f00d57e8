// SPDX-License-Identifier: Apache-2.0
// Parts and threads of one Transform. tests/python/image compares its bytes with the document.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "transform_testing.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using testing::Bytes;
using testing::make_frame;
using testing::run;
using testing::values_of;

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
