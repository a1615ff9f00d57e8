// SPDX-License-Identifier: Apache-2.0
// Transform against numbers worked out by hand from docs/transform.md. The numpy restatement covers the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "transform_testing.h"
#include "tricodec/error.h"
#include "tricodec/transform.h"

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

// ---- colour

TEST(Transform, converts_limited_bt601_with_the_documented_integers) {
    // R = (4160 * 9539 + 7168 * 13075 + 2^18) >> 19 = 133665984 >> 19; G and B are just below 1 and below 0.
    const Frame frame = make_frame(PixelFormat::yuv444p, 1, 1, {{81}, {90}, {240}});

    EXPECT_EQ(run({}, frame), (Bytes{254, 0, 0}));
}

TEST(Transform, puts_blue_first_for_bgr) {
    const Frame frame = make_frame(PixelFormat::yuv444p, 1, 1, {{81}, {90}, {240}});
    TransformOptions options;
    options.color = OutputColor::bgr;

    EXPECT_EQ(run(options, frame), (Bytes{0, 0, 254}));
}

TEST(Transform, maps_black_and_white_of_every_yuv_and_gray_format_and_range_to_0_and_255) {
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        if (format.family == ColorFamily::rgb) continue;
        for (const ColorRange range : {ColorRange::limited, ColorRange::full}) {
            const bool limited = range == ColorRange::limited;
            const int black = limited ? 16 << (format.depth - 8) : 0;
            const int white = limited ? 235 << (format.depth - 8) : (1 << format.depth) - 1;
            const int neutral = 1 << (format.depth - 1);
            Frame dark = flat_frame(format.format, 3, 3, {black, neutral, neutral});
            Frame light = flat_frame(format.format, 3, 3, {white, neutral, neutral});
            dark.color.range = light.color.range = range;

            EXPECT_EQ(run({}, dark), Bytes(27, 0)) << format.name;
            EXPECT_EQ(run({}, light), Bytes(27, 255)) << format.name;
        }
    }
}

TEST(Transform, reads_unspecified_range_as_limited_for_yuv_and_full_for_gray) {
    EXPECT_EQ(run({}, make_frame(PixelFormat::gray, 1, 1, {{16}})), (Bytes{16, 16, 16}));
    EXPECT_EQ(run({}, make_frame(PixelFormat::yuv444p, 1, 1, {{16}, {128}, {128}})), (Bytes{0, 0, 0}));
}

TEST(Transform, lets_options_override_range_and_matrix_of_the_stream) {
    Frame frame = make_frame(PixelFormat::yuv444p, 1, 1, {{100}, {128}, {138}});
    frame.color.matrix = ColorMatrix::bt709;
    frame.color.range = ColorRange::limited;
    TransformOptions options;
    options.matrix = ColorMatrix::smpte170m;
    options.range = ColorRange::full;

    // Full range BT.601: R = 100 + 10 * 1.402 = 114.02, G = 100 - 10 * 0.714 = 92.86.
    EXPECT_EQ(run(options, frame), (Bytes{114, 93, 100}));
}

TEST(Transform, reads_an_unspecified_matrix_as_the_options_say) {
    const auto red = [](int height, UnspecifiedMatrix unspecified) {
        TransformOptions options;
        options.unspecified = unspecified;
        options.size = Size{1, 1};
        return run(options, flat_frame(PixelFormat::yuv444p, 1, height, {100, 128, 168}))[0];
    };
    // (84 * 255/219) + 40 * 1.402 * 255/224 = 161.65, and with 1.5748 169.52.
    EXPECT_EQ(red(8, UnspecifiedMatrix::bt601), 162);
    EXPECT_EQ(red(8, UnspecifiedMatrix::bt709), 170);
    EXPECT_EQ(red(719, UnspecifiedMatrix::by_height), 162);
    EXPECT_EQ(red(720, UnspecifiedMatrix::by_height), 170);
}

TEST(Transform, copies_rgb_samples_of_8_bits_unchanged) {
    for (const PixelFormat format : {PixelFormat::rgb24, PixelFormat::bgr24, PixelFormat::gbrp}) {
        const Frame frame = make_frame(format, 2, 1, {{10, 0}, {20, 255}, {30, 1}});

        EXPECT_EQ(run({}, frame), (Bytes{10, 20, 30, 0, 255, 1})) << to_string(format);
    }
}

TEST(Transform, weighs_rgb_by_bt601_for_gray) {
    TransformOptions options;
    options.color = OutputColor::gray;
    const Frame frame = make_frame(PixelFormat::rgb24, 3, 1, {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}});

    EXPECT_EQ(run(options, frame), (Bytes{76, 150, 29}));  // 76.2, 149.7, 29.1
}

TEST(Transform, keeps_the_samples_of_the_stream_for_yuv) {
    TransformOptions options;
    options.color = OutputColor::yuv;
    Frame frame = make_frame(PixelFormat::p010le, 2, 2, {{64, 940, 1023, 2}, {513}, {1}});
    frame.color.chroma_location = ChromaLocation::topleft;

    // 10-bit values over 4, rounded half up, and 1023 / 4 clamped.
    EXPECT_EQ(run(options, frame), (Bytes{16, 128, 0, 235, 128, 0, 255, 128, 0, 1, 128, 0}));
}

TEST(Transform, gives_gray_sources_neutral_chroma_for_yuv) {
    TransformOptions options;
    options.color = OutputColor::yuv;

    EXPECT_EQ(run(options, make_frame(PixelFormat::gray, 1, 1, {{77}})), (Bytes{77, 128, 128}));
}

TEST(Transform, refuses_matrices_that_are_not_linear_naming_the_override) {
    Frame frame = make_frame(PixelFormat::yuv444p, 1, 1, {{81}, {90}, {240}});
    frame.color.matrix = ColorMatrix::ictcp;
    const std::string text = error_of(ErrorCode::unsupported, [&] { run({}, frame); });
    EXPECT_NE(text.find("ictcp"), std::string::npos) << text;
    EXPECT_NE(text.find("matrix="), std::string::npos) << text;

    TransformOptions luma;
    luma.color = OutputColor::gray;
    EXPECT_EQ(run(luma, frame), (Bytes{76}));  // 65 * 255 / 219: no matrix is needed
}

// ---- resampling

TEST(Transform, antialiases_by_widening_the_triangle_and_repeating_the_border) {
    // Weights of output 0: 1, 3/4, 1/4 over 2: 62.5. Output 1 mirrored: 112.5. Half rounds up.
    const Frame frame = make_frame(PixelFormat::gray, 4, 1, {{0, 100, 200, 50}});

    EXPECT_EQ(run(gray_to(2, Resize::bilinear, true), frame), (Bytes{63, 113}));
}

TEST(Transform, takes_two_neighbours_for_bilinear_without_antialias) {
    const Frame frame = make_frame(PixelFormat::gray, 4, 1, {{0, 100, 200, 50}});

    EXPECT_EQ(run(gray_to(2, Resize::bilinear, false), frame), (Bytes{50, 125}));
}

TEST(Transform, takes_the_sample_at_the_centre_for_nearest) {
    const Frame frame = make_frame(PixelFormat::gray, 4, 1, {{0, 100, 200, 50}});

    EXPECT_EQ(run(gray_to(2, Resize::nearest, true), frame), (Bytes{100, 50}));
    EXPECT_EQ(run(gray_to(1, Resize::nearest, true), frame), (Bytes{200}));
    EXPECT_EQ(run(gray_to(8, Resize::nearest, true), frame), (Bytes{0, 0, 100, 100, 200, 200, 50, 50}));
}

TEST(Transform, overshoots_as_keys_cubic_with_a_minus_half) {
    // Border weights 1.0703125 and -0.0703125: 95.5. Inner ones 0.796875 and 0.203125: 113.
    const Frame frame = make_frame(PixelFormat::gray, 2, 1, {{100, 164}});

    EXPECT_EQ(run(gray_to(4, Resize::bicubic, true), frame), (Bytes{96, 113, 151, 169}));
    EXPECT_EQ(run(gray_to(4, Resize::bicubic, false), frame), (Bytes{96, 113, 151, 169}));
}

TEST(Transform, resamples_vertically_with_the_same_filter) {
    const Frame frame = make_frame(PixelFormat::gray, 1, 4, {{0, 100, 200, 50}});
    TransformOptions options = gray_to(1, Resize::bilinear, true);
    options.size = Size{2, 1};

    EXPECT_EQ(run(options, frame), (Bytes{63, 113}));
}

struct Siting {
    ChromaLocation location;
    Bytes row;
    Bytes column;
};

TEST(Transform, places_chroma_where_the_stream_says) {
    const Siting sitings[] = {
        {ChromaLocation::unspecified, {100, 150, 200, 200}, {100, 125, 175, 200}},
        {ChromaLocation::left, {100, 150, 200, 200}, {100, 125, 175, 200}},
        {ChromaLocation::center, {100, 125, 175, 200}, {100, 125, 175, 200}},
        {ChromaLocation::topleft, {100, 150, 200, 200}, {100, 150, 200, 200}},
        {ChromaLocation::top, {100, 125, 175, 200}, {100, 150, 200, 200}},
        {ChromaLocation::bottomleft, {100, 150, 200, 200}, {100, 100, 150, 200}},
        {ChromaLocation::bottom, {100, 125, 175, 200}, {100, 100, 150, 200}},
    };
    TransformOptions options;
    options.color = OutputColor::yuv;
    options.layout = Layout::chw;
    for (const Siting& siting : sitings) {
        SCOPED_TRACE(to_string(siting.location));
        Frame wide = make_frame(PixelFormat::yuv420p, 4, 1, {{1, 2, 3, 4}, {100, 200}, {7, 7}});
        Frame high = make_frame(PixelFormat::yuv420p, 1, 4, {{1, 2, 3, 4}, {100, 200}, {7, 7}});
        wide.color.chroma_location = high.color.chroma_location = siting.location;

        const Bytes row = run(options, wide);
        const Bytes column = run(options, high);

        EXPECT_EQ(Bytes(row.begin() + 4, row.begin() + 8), siting.row);
        EXPECT_EQ(Bytes(column.begin() + 4, column.begin() + 8), siting.column);
    }
}

TEST(Transform, takes_the_covering_chroma_sample_for_nearest) {
    TransformOptions options;
    options.color = OutputColor::yuv;
    options.layout = Layout::chw;
    options.resize = Resize::nearest;
    const Frame frame = make_frame(PixelFormat::yuv411p, 5, 1, {{1, 2, 3, 4, 5}, {100, 200}, {7, 8}});

    EXPECT_EQ(run(options, frame), (Bytes{1, 2, 3, 4, 5, 100, 100, 100, 100, 200, 7, 7, 7, 7, 8}));
}

TEST(Transform, keeps_flat_pictures_flat_at_every_size_and_format) {
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        const int unit = 1 << (format.depth - 8);
        const std::vector<int> values = {90 * unit, 60 * unit, 201 * unit};
        const Bytes expected = run({}, flat_frame(format.format, 1, 1, values));
        for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic}) {
            for (const Size from : {Size{1, 7}, Size{5, 3}, Size{9, 1}}) {
                TransformOptions options;
                options.resize = resize;
                options.size = Size{3, 5};
                const Bytes result = run(options, flat_frame(format.format, from.width, from.height, values));
                for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], expected[i % 3]) << format.name;
            }
        }
    }
}

TEST(Transform, reads_nothing_outside_the_crop) {
    // The crop's chroma is samples 1 to 3 of 4 (pixels 3 to 6 of 8); all else differs between the two frames.
    const std::vector<int> inside = {0, 0, 0, 50, 90, 20, 70, 0};
    const Frame one = make_frame(PixelFormat::yuv422p, 8, 1, {inside, {0, 100, 110, 120}, {0, 90, 80, 70}});
    const Frame two = make_frame(PixelFormat::yuv422p, 8, 1,
                                 {{255, 255, 255, 50, 90, 20, 70, 255}, {255, 100, 110, 120}, {255, 90, 80, 70}});
    for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic}) {
        TransformOptions options;
        options.resize = resize;
        options.crop = Crop{0, 3, 1, 4};
        options.size = Size{2, 9};

        EXPECT_EQ(run(options, one), run(options, two));
    }
}

// ---- floats

TEST(Transform, gives_float_0_and_1_at_the_ends_of_the_range) {
    const std::vector<float> values = run_float({}, make_frame(PixelFormat::gray, 2, 1, {{0, 255}}));

    EXPECT_EQ(values, (std::vector<float>{0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F}));
    for (const float value : values) EXPECT_FALSE(std::signbit(value));
}

TEST(Transform, normalises_each_channel_and_clamps_to_what_0_to_255_can_give) {
    TransformOptions options;
    options.scale = 1.0F;
    options.mean = {55.0F, 0.0F, 100.0F};
    options.std = {2.0F, -4.0F, 0.5F};
    // Limited range white and blacker than black.
    const Frame frame = make_frame(PixelFormat::yuv444p, 2, 1, {{235, 3}, {128, 128}, {128, 128}});

    const std::vector<float> values = run_float(options, frame);

    EXPECT_EQ(values, (std::vector<float>{100.0F, -63.75F, 310.0F, -27.5F, 0.0F, -200.0F}));
    EXPECT_FALSE(std::signbit(values[4]));
}

TEST(Transform, keeps_fractions_of_resampled_samples_in_floats) {
    TransformOptions options = gray_to(2, Resize::bilinear, true);
    options.scale = 1.0F;

    EXPECT_EQ(run_float(options, make_frame(PixelFormat::gray, 4, 1, {{0, 100, 200, 50}})),
              (std::vector<float>{62.5F, 112.5F}));
}

TEST(Transform, rounds_each_pass_half_up_to_14_bits) {
    // The first of three equal taps is 5462 of 16384: 2 * 64 * 5462 / 16384 = 42.67, and likewise vertically.
    TransformOptions options = gray_to(1, Resize::bilinear, true);
    options.scale = 1.0F;

    EXPECT_EQ(run_float(options, make_frame(PixelFormat::gray, 3, 1, {{2, 0, 0}})),
              (std::vector<float>{43.0F / 64.0F}));
    EXPECT_EQ(run_float(options, make_frame(PixelFormat::gray, 1, 3, {{2, 0, 0}})),
              (std::vector<float>{43.0F / 64.0F}));
}

TEST(Transform, rounds_float16_to_nearest_even) {
    TransformOptions options;
    options.color = OutputColor::gray;
    options.dtype = DType::float16;
    options.scale = 16.0F;
    options.mean = {-1.0F};
    const Frame frame = make_frame(PixelFormat::gray, 4, 1, {{0, 128, 130, 255}});

    // 1; 2049 and 2081 lie between two halves and go to the even one; 4081 is not a multiple of 2 either.
    const auto values = values_of<std::uint16_t>(Transform(options)(frame));

    EXPECT_EQ(values, (std::vector<std::uint16_t>{0x3C00, 0x6800, 0x6810, 0x6BF8}));
}

TEST(Transform, rounds_bfloat16_to_nearest_even) {
    TransformOptions options;
    options.color = OutputColor::gray;
    options.dtype = DType::bfloat16;
    options.scale = 1.0F;
    options.mean = {-256.0F};
    const Frame frame = make_frame(PixelFormat::gray, 5, 1, {{0, 1, 2, 3, 255}});

    // From 256 on a bfloat16 has steps of 2: 257 and 259 lie between two and go to the even one, 511 to 512.
    const auto values = values_of<std::uint16_t>(Transform(options)(frame));

    EXPECT_EQ(values, (std::vector<std::uint16_t>{0x4380, 0x4380, 0x4381, 0x4382, 0x4400}));
}

// ---- parts

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

TEST(Transform, writes_nothing_outside_a_part) {
    const Frame frame = flat_frame(PixelFormat::gray, 2, 4, {7});
    TransformOptions options;
    options.color = OutputColor::gray;
    const Transform transform(options);
    Bytes memory(8, 99);

    transform.run_part(frame, {memory.data(), DType::uint8, Device{}, {4, 2, 1}, {2, 1, 1}}, 1, 2);

    EXPECT_EQ(memory, (Bytes{99, 99, 99, 99, 7, 7, 7, 7}));
}

// ---- layouts

TEST(Transform, puts_channels_into_pairs_and_eights_with_zeros_between) {
    const Frame frame = make_frame(PixelFormat::rgb24, 2, 2, {{1, 2, 3, 4}, {11, 12, 13, 14}, {21, 22, 23, 24}});
    TransformOptions options;
    options.layout = Layout::chw2;
    const Transform pairs(options);
    EXPECT_EQ(pairs.output_shape(2, 2, {}), (std::vector<std::int64_t>{2, 2, 2, 2}));
    EXPECT_EQ(values_of<std::uint8_t>(pairs(frame)), (Bytes{1, 11, 2, 12, 3, 13, 4, 14, 21, 0, 22, 0, 23, 0, 24, 0}));

    options.layout = Layout::hwc8;
    const Transform eights(options);
    EXPECT_EQ(eights.output_shape(2, 2, {}), (std::vector<std::int64_t>{2, 2, 8}));
    EXPECT_EQ(values_of<std::uint8_t>(eights(frame)), (Bytes{1, 11, 21, 0, 0, 0, 0, 0, 2, 12, 22, 0, 0, 0, 0, 0,  //
                                                             3, 13, 23, 0, 0, 0, 0, 0, 4, 14, 24, 0, 0, 0, 0, 0}));

    options.color = OutputColor::gray;
    options.layout = Layout::chw2;
    EXPECT_EQ(Transform(options).output_shape(5, 3, {}), (std::vector<std::int64_t>{1, 3, 5, 2}));
    options.layout = Layout::hwc8;
    EXPECT_EQ(Transform(options).output_shape(5, 3, {}), (std::vector<std::int64_t>{3, 5, 8}));
}

// ---- orientation

TEST(Transform, turns_pictures_upright) {
    struct Case {
        Orientation orientation;
        Size size;
        Bytes upright;
    };
    // 1 2 3
    // 4 5 6
    const Case cases[] = {
        {{0, false}, {2, 3}, {1, 2, 3, 4, 5, 6}},   {{90, false}, {3, 2}, {4, 1, 5, 2, 6, 3}},
        {{180, false}, {2, 3}, {6, 5, 4, 3, 2, 1}}, {{270, false}, {3, 2}, {3, 6, 2, 5, 1, 4}},
        {{0, true}, {2, 3}, {3, 2, 1, 6, 5, 4}},    {{90, true}, {3, 2}, {6, 3, 5, 2, 4, 1}},
        {{180, true}, {2, 3}, {4, 5, 6, 1, 2, 3}},  {{270, true}, {3, 2}, {1, 4, 2, 5, 3, 6}},
    };
    TransformOptions options;
    options.color = OutputColor::gray;
    for (const Case& item : cases) {
        SCOPED_TRACE(std::to_string(item.orientation.rotation_degrees) +
                     (item.orientation.mirrored ? " mirrored" : ""));
        Frame frame = make_frame(PixelFormat::gray, 3, 2, {{1, 2, 3, 4, 5, 6}});
        frame.orientation = item.orientation;

        EXPECT_EQ(Transform(options).output_size(3, 2, item.orientation), item.size);
        EXPECT_EQ(run(options, frame), item.upright);

        const auto last_row = static_cast<std::size_t>((item.size.height - 1) * item.size.width);
        options.crop = Crop{item.size.height - 1, 0, 1, 1};  // in upright coordinates
        EXPECT_EQ(run(options, frame), (Bytes{item.upright[last_row]}));
        options.crop.reset();
        options.rotate = false;
        EXPECT_EQ(run(options, frame), (Bytes{1, 2, 3, 4, 5, 6}));
        options.rotate = true;
    }
}

// ---- memory

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

TEST(Transform, reads_frames_of_any_stride) {
    const Frame plain =
        make_frame(PixelFormat::nv12, 4, 3, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {60, 70, 80, 90}, {9, 8, 7, 6}});
    Bytes memory(2 * 100, 0xEE);
    Frame flipped = plain;  // upside down in memory, rows 17 bytes apart
    flipped.planes[0] = {reinterpret_cast<std::byte*>(memory.data()) + 2 * 17, -17};
    flipped.planes[1] = {reinterpret_cast<std::byte*>(memory.data()) + 100 + 17, -17};
    for (std::size_t plane = 0; plane < 2; ++plane) {
        const int rows = info(plain.format).plane_height(static_cast<int>(plane), 3);
        for (int y = 0; y < rows; ++y) {
            std::memcpy(flipped.planes[plane].data - 17 * y,
                        plain.planes[plane].data + y * plain.planes[plane].stride_bytes, 4);
        }
    }

    EXPECT_EQ(run({}, flipped), run({}, plain));
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
