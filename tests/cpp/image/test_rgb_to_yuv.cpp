// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>
#include <vector>

#include "image/cpu/kernels.h"
#include "image/forward_plan.h"
#include "media.h"
#include "tricodec/base/error.h"
#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec {
namespace {

std::vector<std::byte> noise(std::size_t size, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<std::byte> bytes(size);
    // Black, white and pure colors among the rest: where rounding and clamping show.
    for (auto& each : bytes) {
        const auto number = generator();
        each = static_cast<std::byte>(number % 5 == 0 ? 0 : number % 5 == 1 ? 255 : number >> 8);
    }
    return bytes;
}

RgbPicture picture_over(const std::vector<std::byte>& bytes, int width, int height, int step, bool reversed) {
    RgbPicture picture;
    picture.width = width;
    picture.height = height;
    picture.step_bytes = step;
    const std::ptrdiff_t stride = std::ptrdiff_t{width} * (step == 1 ? 1 : step);
    for (std::size_t c = 0; c < 3; ++c) {
        const auto place = static_cast<std::ptrdiff_t>(reversed ? 2 - c : c);
        picture.first[c] = bytes.data() + (step == 1 ? place * width * height : place);
        picture.stride_bytes[c] = stride;
    }
    return picture;
}

constexpr PixelFormat kFormats[] = {PixelFormat::yuv420p,     PixelFormat::yuv422p,     PixelFormat::yuv444p,
                                    PixelFormat::yuv420p10le, PixelFormat::yuv422p10le, PixelFormat::yuv444p12le};
constexpr ChromaLocation kSites[] = {ChromaLocation::left, ChromaLocation::center, ChromaLocation::topleft,
                                     ChromaLocation::top,  ChromaLocation::bottom, ChromaLocation::bottomleft};

TEST(RgbToYuv, kernels_give_the_bytes_of_the_definition) {
    std::mt19937 generator(11);
    for (const auto& kernels : image::supported_kernels()) {
        for (int i = 0; i < 120; ++i) {
            const int width = 1 + static_cast<int>(generator() % 150);
            const int height = 1 + static_cast<int>(generator() % 7);
            const int step = std::array{1, 3, 4}[generator() % 3];
            const auto format = kFormats[generator() % std::size(kFormats)];
            ColorDescription color;
            color.matrix = generator() % 2 == 0 ? ColorMatrix::bt709 : ColorMatrix::smpte170m;
            color.range = generator() % 2 == 0 ? ColorRange::limited : ColorRange::full;
            color.chroma_location = kSites[generator() % std::size(kSites)];
            // Exactly as long as the picture, so that a sanitizer sees a read past it.
            const auto bytes =
                noise(static_cast<std::size_t>(width) * height * static_cast<std::size_t>(step == 4 ? 4 : 3),
                      static_cast<unsigned>(generator()));
            const auto picture = picture_over(bytes, width, height, step, generator() % 2 == 0);
            const auto plan = i % 4 == 0 ? image::make_chroma_plan(info(format), color.chroma_location)
                                         : image::make_forward_plan(info(format), color);
            const Frame expected = alloc_frame(format, width, height);
            const Frame made = alloc_frame(format, width, height);

            image::rgb_to_yuv_ref(plan, picture, expected);
            kernels.rgb_to_yuv(plan, picture, made);

            ASSERT_EQ(testing::packed(made), testing::packed(expected))
                << width << "x" << height << " step " << step << " " << to_string(format);
        }
    }
}

TEST(SubsampleChroma, deep_samples_take_the_filters_of_8_bits) {
    constexpr int kWidth = 37;
    constexpr int kHeight = 21;
    const auto bytes = noise(std::size_t{3} * kWidth * kHeight, 5);
    Frame flat = alloc_frame(PixelFormat::yuv444p, kWidth, kHeight);
    Frame deep = alloc_frame(PixelFormat::yuv444p10le, kWidth, kHeight);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        flat.planes[0].data[i] = bytes[i];  // packed, plane after plane
        reinterpret_cast<std::uint16_t*>(deep.planes[0].data)[i] =
            static_cast<std::uint16_t>(std::to_integer<int>(bytes[i]) * 4);
    }
    for (const auto location : {ChromaLocation::unspecified, ChromaLocation::left, ChromaLocation::center,
                                ChromaLocation::topleft, ChromaLocation::top, ChromaLocation::bottomleft}) {
        for (const auto format : {PixelFormat::yuv420p10le, PixelFormat::yuv422p10le, PixelFormat::p010le}) {
            flat.color.chroma_location = deep.color.chroma_location = location;

            EXPECT_EQ(testing::packed(subsample_chroma(deep, format)), testing::packed(subsample_chroma(flat, format)))
                << to_string(format) << " sited " << static_cast<int>(location);
        }
    }
}

TEST(SubsampleChroma, another_depth_is_refused) {
    const Frame deep = alloc_frame(PixelFormat::yuv444p12le, 4, 4);

    EXPECT_THROW((void)subsample_chroma(deep, PixelFormat::yuv420p10le), Error);
    EXPECT_THROW((void)subsample_chroma(deep, PixelFormat::yuv420p), Error);
}

}  // namespace
}  // namespace tricodec
