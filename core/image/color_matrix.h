// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tricodec/image/transform.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec::image {

/// What a frame's samples mean once the options had their say: nothing is unspecified any more.
struct SourceColor {
    ColorFamily family = ColorFamily::yuv;
    ColorMatrix matrix = ColorMatrix::smpte170m;  ///< of family yuv only
    ColorRange range = ColorRange::limited;
    int depth = 8;
};

/// From 14-bit samples of up to three components to the channels of the output (docs/reference/transform.md section 5).
/// Component 0, 1, 2 are Y, U, V or R, G, B; components that a gray source lacks are 8192 everywhere.
struct ColorPlan {
    int num_channels = 0;
    std::array<std::int32_t, 3> offset{};                ///< by component, 14-bit units
    std::array<std::array<std::int32_t, 3>, 3> fixed{};  ///< [channel][component], Q13, for uint8
    std::array<std::array<float, 3>, 3> factor{};        ///< [channel][component], for floats
    std::array<float, 3> bias{};                         ///< by channel; never -0
    std::array<float, 3> low{};                          ///< by channel; never -0
    std::array<float, 3> high{};                         ///< by channel; never -0
};

/// (value * scale - mean) / std of each channel, value in 0..255.
struct Normalization {
    float scale = 1.0F;
    std::array<float, 3> mean{0.0F, 0.0F, 0.0F};
    std::array<float, 3> std{1.0F, 1.0F, 1.0F};
};

[[nodiscard]] constexpr int num_channels(OutputColor color) noexcept {
    if (color == OutputColor::rgba) return 4;
    return color == OutputColor::gray ? 1 : 3;
}

/// What the options and the frame's own description make of it: `height` is the frame's number of lines.
[[nodiscard]] SourceColor resolve_color(const PixelFormatInfo& format, const ColorDescription& described, int height,
                                        const TransformOptions& options);

/// Throws Error(unsupported) for matrices that are not linear in the samples, and for yuv output of rgb sources.
[[nodiscard]] ColorPlan make_color_plan(const SourceColor& source, OutputColor output, const Normalization& norm);

/// Throws Error(unsupported) naming the matrix and the remedy for one that has none (ycgco among them).
[[nodiscard]] LumaWeights expected_weights(ColorMatrix matrix);

/// Throws Error(unsupported) naming the matrix and the remedy unless rgb can be computed from it.
void expect_linear(ColorMatrix matrix);

}  // namespace tricodec::image
