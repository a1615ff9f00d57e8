// SPDX-License-Identifier: Apache-2.0
// What Transform says of its plan is true of the plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "image/cpu/kernels.h"
#include "transform_testing.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using testing::error_of;

/// A frame without planes: geometry only.
Frame geometry(PixelFormat format, int width, int height) {
    Frame frame;
    frame.format = format;
    frame.width = width;
    frame.height = height;
    return frame;
}

bool has(const std::vector<std::string>& lines, std::string_view start) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(start); });
}

bool has_kernels() {
    return image_engine().starts_with("highway");
}

TEST(TransformExplain, erases_steps_that_change_nothing) {
    TransformOptions options;
    options.crop = Crop{0, 0, 48, 64};
    options.size = Size{48, 64};
    options.dtype = DType::float32;
    options.scale = 1.0F;
    options.mean = {0.0F};
    options.std = {1.0F, 1.0F, 1.0F};
    const FusionReport report = Transform(options).explain(geometry(PixelFormat::nv12, 64, 48));

    EXPECT_EQ(report.name, "nv12_to_rgb");
    for (const char* const step : {"crop", "resize", "scale", "mean and std"}) {
        EXPECT_TRUE(has(report.erased, step)) << step;
    }
    options.crop = Crop{0, 0, 46, 64};
    options.scale.reset();
    EXPECT_EQ(Transform(options).explain(geometry(PixelFormat::nv12, 64, 48)).name,
              "nv12_to_rgb + crop + resize + scale");
}

TEST(TransformExplain, names_turns_dtypes_and_layouts) {
    TransformOptions options;
    options.dtype = DType::bfloat16;
    options.layout = Layout::hwc8;
    options.color = OutputColor::gray;
    Frame frame = geometry(PixelFormat::yuv444p, 40, 30);
    frame.orientation = {90, true};
    const FusionReport turned = Transform(options).explain(frame);

    EXPECT_EQ(turned.name, "yuv444p_to_gray + mirror + rotate90 + scale + to_bfloat16 + hwc8");
    EXPECT_TRUE(has(turned.not_fused, "rotate"));
    EXPECT_TRUE(has(turned.not_fused, "hwc8"));
    if (has_kernels()) {
        EXPECT_TRUE(has(turned.erased, "chroma"));
    }
    options.rotate = false;
    EXPECT_EQ(Transform(options).explain(frame).name, "yuv444p_to_gray + scale + to_bfloat16 + hwc8");
}

TEST(TransformExplain, says_which_path_runs_and_why_not_a_faster_one) {
    const auto report = [](PixelFormat format, const TransformOptions& options = {},
                           ChromaLocation location = ChromaLocation::left) {
        Frame frame = geometry(format, 64, 48);
        frame.color.chroma_location = location;
        return Transform(options).explain(frame);
    };
    if (!has_kernels()) {
        EXPECT_EQ(report(PixelFormat::yuv420p).path, "scalar");
        EXPECT_TRUE(has(report(PixelFormat::yuv420p).not_fused, "kernels"));
        return;
    }
    for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::p010le,
                                     PixelFormat::yuv420p10le, PixelFormat::yuv422p12le, PixelFormat::nv16}) {
        EXPECT_EQ(report(format).path, "fused rows") << to_string(format);
        EXPECT_TRUE(report(format).not_fused.empty()) << to_string(format);
    }
    TransformOptions nearest;
    nearest.chroma = ChromaUpsampling::nearest;
    for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::p010le}) {
        const FusionReport made = report(format, nearest, ChromaLocation::center);
        EXPECT_EQ(made.path, "fused rows") << to_string(format);
        EXPECT_TRUE(has(made.fused, "chroma: each sample is repeated")) << to_string(format);
    }
    const auto generic = [](const FusionReport& made, std::string_view reason) {
        EXPECT_EQ(made.path, "generic rows");
        ASSERT_FALSE(made.not_fused.empty());
        EXPECT_NE(made.not_fused.front().find(reason), std::string::npos) << made.not_fused.front();
    };
    generic(report(PixelFormat::yuv420p, {}, ChromaLocation::center), "sited");
    generic(report(PixelFormat::yuv420p16le), "16 bits");
    generic(report(PixelFormat::rgb24), "not subsampled");
    generic(report(PixelFormat::gray), "no chroma");
    TransformOptions options;
    options.dtype = DType::float32;
    generic(report(PixelFormat::yuv420p, options), "floats");
    options = {};
    options.size = Size{20, 20};
    generic(report(PixelFormat::yuv420p, options), "resampled");
    options = {};
    options.color = OutputColor::yuv;
    generic(report(PixelFormat::yuv420p, options), "keeps the stream's samples");
}

TEST(TransformExplain, tells_the_log_once_for_each_geometry) {
    std::vector<std::string> messages;
    const LogLevel before = log_level();
    set_log_level(LogLevel::debug);
    set_log_sink([&](LogLevel, std::string_view message) { messages.emplace_back(message); });
    const Transform transform;
    for (const int width : {8, 8, 10, 8}) static_cast<void>(transform(alloc_frame(PixelFormat::gray, width, 4)));
    set_log_sink({});
    set_log_level(before);

    ASSERT_EQ(messages.size(), 2u);
    EXPECT_TRUE(messages[0].starts_with("transform: gray_to_rgb (")) << messages[0];
}

}  // namespace
}  // namespace tricodec
