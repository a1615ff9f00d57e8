// SPDX-License-Identifier: Apache-2.0
// What Transform refuses, how it describes itself, and its words.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "transform_testing.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using testing::Bytes;
using testing::error_of;
using testing::make_frame;
using testing::run;

TEST(Transform, refuses_options_that_mean_nothing) {
    const auto refused = [](ErrorCode code, const char* naming, auto&& change) {
        TransformOptions options;
        change(options);
        const std::string text = error_of(code, [&] { Transform{options}; });
        EXPECT_NE(text.find(naming), std::string::npos) << text;
    };
    constexpr auto kInvalid = ErrorCode::invalid_argument;
    refused(kInvalid, "crop", [](auto& o) { o.crop = Crop{-1, 0, 2, 2}; });
    refused(kInvalid, "crop", [](auto& o) { o.crop = Crop{0, 0, 0, 2}; });
    refused(kInvalid, "size", [](auto& o) { o.size = Size{0, 4}; });
    refused(ErrorCode::refused, "limits", [](auto& o) { o.size = Size{1 << 20, 4}; });
    refused(kInvalid, "int32", [](auto& o) { o.dtype = DType::int32; });
    refused(kInvalid, "matrix", [](auto& o) { o.matrix = ColorMatrix::rgb; });
    refused(ErrorCode::unsupported, "bt2020c", [](auto& o) { o.matrix = ColorMatrix::bt2020_cl; });
    refused(kInvalid, "uint8", [](auto& o) { o.mean = {1.0F}; });
    refused(kInvalid, "uint8", [](auto& o) { o.scale = 1.0F; });
    const auto refused_float = [&](const char* naming, auto&& change) {
        refused(kInvalid, naming, [&](auto& o) {
            o.dtype = DType::float32;
            change(o);
        });
    };
    refused_float("std", [](auto& o) { o.std = {1.0F, 0.0F, 1.0F}; });
    refused_float("std", [](auto& o) { o.std = {NAN}; });
    refused_float("mean", [](auto& o) { o.mean = {INFINITY}; });
    refused_float("mean", [](auto& o) { o.mean = {1.0F, 2.0F}; });
    refused_float("scale", [](auto& o) { o.scale = NAN; });
    refused_float("scale", [](auto& o) { o.scale = 0.0F; });
    refused_float("float32", [](auto& o) { o.scale = 1e37F; });
    refused_float("float32", [](auto& o) { o.std = {1e-38F}, o.scale = 1.0F; });
    refused_float("mean", [](auto& o) { o.color = OutputColor::gray, o.mean = {1.0F, 2.0F, 3.0F}; });
}

TEST(Transform, refuses_a_crop_outside_the_picture_naming_its_size) {
    TransformOptions options;
    options.crop = Crop{0, 2, 2, 3};
    const Transform transform(options);

    EXPECT_EQ(transform.output_size(5, 2, {}), (Size{2, 3}));
    const std::string text =
        error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(transform.output_size(4, 2, {})); });
    EXPECT_NE(text.find("4 wide and 2 high"), std::string::npos) << text;
    error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(transform.output_size(5, 2, {90, false})); });
}

TEST(Transform, refuses_parts_that_do_not_exist) {
    const Frame frame = make_frame(PixelFormat::gray, 2, 1, {{1, 2}});
    const Transform transform;
    const Tensor out = Tensor::empty({1, 2, 3}, DType::uint8);
    for (const auto& [part, num_parts] : {std::pair{2, 2}, {-1, 2}, {0, 0}}) {
        const std::string text =
            error_of(ErrorCode::invalid_argument, [&] { transform.run_part(frame, out.view, part, num_parts); });
        EXPECT_NE(text.find("part " + std::to_string(part)), std::string::npos) << text;
    }
}

TEST(Transform, refuses_yuv_of_an_rgb_source) {
    TransformOptions options;
    options.color = OutputColor::yuv;
    error_of(ErrorCode::unsupported, [&] { run(options, make_frame(PixelFormat::rgb24, 1, 1, {{1}, {2}, {3}})); });
}

TEST(Transform, refuses_frames_of_a_gpu_that_is_not_there) {
    Frame frame = make_frame(PixelFormat::gray, 1, 1, {{1}});
    frame.device = {Device::Kind::cuda, 4096};
    const std::string text = error_of(ErrorCode::device, [&] { run({}, frame); });
    EXPECT_NE(text.find("CUDA"), std::string::npos) << text;
}

// ---- words

TEST(Transform, describes_itself) {
    TransformOptions options;
    options.crop = Crop{0, 20, 480, 480};
    options.size = Size{224, 224};
    options.dtype = DType::float32;
    options.layout = Layout::chw;

    EXPECT_EQ(Transform(options).describe(),
              "crop 480x480+20+0, resize bilinear antialiased to 224x224, rgb, float32 CHW");
    options.chroma = ChromaUpsampling::nearest;
    EXPECT_NE(Transform(options).describe().find("rgb, nearest chroma, float32"), std::string::npos);
}

TEST(TransformWords, accept_the_words_of_the_doors_and_list_them_otherwise) {
    EXPECT_EQ(parse_resize("bicubic"), Resize::bicubic);
    EXPECT_EQ(parse_output_color("bgr"), OutputColor::bgr);
    EXPECT_EQ(parse_output_color("RGB"), OutputColor::rgb);
    EXPECT_EQ(parse_layout("FCHW"), Layout::chw);
    EXPECT_EQ(parse_layout("NHWC"), Layout::hwc);
    for (const char* const name : {"CHW2", "NCHW2", "FCHW2", "N(C/2)HW2"}) {
        EXPECT_EQ(parse_layout(name), Layout::chw2) << name;
    }
    for (const char* const name : {"HWC8", "NHWC8", "FHWC8"}) EXPECT_EQ(parse_layout(name), Layout::hwc8) << name;
    for (const Layout layout : {Layout::hwc, Layout::chw, Layout::chw2, Layout::hwc8}) {
        EXPECT_EQ(parse_layout(to_string(layout)), layout);
    }
    EXPECT_EQ(parse_unspecified_matrix("by_height"), UnspecifiedMatrix::by_height);
    EXPECT_EQ(parse_chroma_upsampling("Nearest"), ChromaUpsampling::nearest);
    EXPECT_EQ(parse_chroma_upsampling("interpolated"), ChromaUpsampling::interpolated);
    const std::string text =
        error_of(ErrorCode::invalid_argument, [] { static_cast<void>(parse_output_color("cmyk")); });
    EXPECT_NE(text.find("\"cmyk\""), std::string::npos) << text;
    EXPECT_NE(text.find("\"gray\""), std::string::npos) << text;
}

}  // namespace
}  // namespace tricodec
