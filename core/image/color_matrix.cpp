// SPDX-License-Identifier: Apache-2.0
#include "image/color_matrix.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tricodec/base/error.h"

namespace tricodec::image {
namespace {

using Row = std::array<double, 3>;

constexpr int kBlack = 16 * 64;  // limited range, 14-bit units
constexpr int kNeutralChroma = 128 * 64;

/// What brings luma, or any sample of an RGB or gray source, to 0..255, in 8-bit units.
double luma_expansion(const SourceColor& source) {
    if (source.range == ColorRange::limited) return 255.0 / 219.0;
    return 255.0 * static_cast<double>(1 << (source.depth - 8)) / static_cast<double>((1 << source.depth) - 1);
}

double chroma_expansion(const SourceColor& source) {
    // H.273 derives YCgCo from RGB that is already in its range, so its chroma has the step of luma, 219.
    if (source.range == ColorRange::limited && source.matrix != ColorMatrix::ycgco) return 255.0 / 224.0;
    return luma_expansion(source);
}

std::array<Row, 3> rgb_from_yuv(const SourceColor& source) {
    const double luma = luma_expansion(source);
    const double chroma = chroma_expansion(source);
    if (source.matrix == ColorMatrix::ycgco) {  // U is Cg, V is Co
        return {{{luma, -chroma, chroma}, {luma, chroma, 0.0}, {luma, -chroma, -chroma}}};
    }
    const LumaWeights k = expected_weights(source.matrix);
    const double red = 2.0 * (1.0 - k.red);
    const double blue = 2.0 * (1.0 - k.blue);
    const double green = 1.0 - k.red - k.blue;
    return {{{luma, 0.0, red * chroma},
             {luma, -(blue * k.blue / green) * chroma, -(red * k.red / green) * chroma},
             {luma, blue * chroma, 0.0}}};
}

std::array<Row, 3> identity(double factor) {
    return {{{factor, 0.0, 0.0}, {0.0, factor, 0.0}, {0.0, 0.0, factor}}};
}

/// Rows in the order rgb (or yuv); bgr is turned round by the caller.
std::array<Row, 3> channel_rows(const SourceColor& source, OutputColor output) {
    const double luma = luma_expansion(source);
    if (output == OutputColor::yuv) {
        TRICODEC_EXPECT(source.family != ColorFamily::rgb, unsupported,
                        "transform: color=\"yuv\" keeps a stream's own samples, and this frame's are RGB; use "
                        "color=\"rgb\", \"bgr\" or \"gray\"");
        return identity(1.0);
    }
    if (source.family == ColorFamily::rgb) {
        if (output != OutputColor::gray) return identity(luma);
        const LumaWeights k = *luma_weights(ColorMatrix::smpte170m);
        const double green = 1.0 - k.red - k.blue;
        return {{{k.red * luma, green * luma, k.blue * luma}}};
    }
    if (source.family == ColorFamily::gray || output == OutputColor::gray) {
        const Row row{luma, 0.0, 0.0};
        return {row, row, row};
    }
    return rgb_from_yuv(source);
}

std::array<std::int32_t, 3> component_offsets(const SourceColor& source, OutputColor output) {
    if (output == OutputColor::yuv) return {0, 0, 0};
    const std::int32_t black = source.range == ColorRange::limited ? kBlack : 0;
    if (source.family == ColorFamily::rgb) return {black, black, black};
    return {black, kNeutralChroma, kNeutralChroma};
}

float rounded(double value) {
    return static_cast<float>(value) + 0.0F;
}  // + 0 turns -0 into 0

}  // namespace

LumaWeights expected_weights(ColorMatrix matrix) {
    if (const auto weights = luma_weights(matrix)) return *weights;
    const auto number = static_cast<int>(matrix);
    const std::string_view name = to_string(matrix);
    fail(ErrorCode::unsupported,
         "transform: the color matrix " + (name.empty() ? std::to_string(number) : std::string(name)) +
             " (H.273 value " + std::to_string(number) +
             ") is not a linear map to RGB; accepted are bt709, fcc, bt470bg, smpte170m, smpte240m, ycgco and "
             "bt2020nc. Override it with matrix=, for example matrix=\"bt2020nc\", or ask for color=\"yuv\"");
}

void expect_linear(ColorMatrix matrix) {
    if (matrix != ColorMatrix::ycgco) static_cast<void>(expected_weights(matrix));
}

SourceColor resolve_color(const PixelFormatInfo& format, const ColorDescription& described, int height,
                          const TransformOptions& options) {
    SourceColor source;
    source.family = format.family;
    source.depth = format.depth;
    source.range = options.range.value_or(described.range);
    if (source.range == ColorRange::unspecified) {
        source.range = format.family == ColorFamily::yuv ? ColorRange::limited : ColorRange::full;
    }
    source.matrix = options.matrix.value_or(described.matrix);
    // YUV samples that call themselves RGB contradict their own format; they are read as if nothing was said.
    if (source.matrix == ColorMatrix::unspecified || source.matrix == ColorMatrix::rgb) {
        const bool high = options.unspecified == UnspecifiedMatrix::by_height && height >= 720;
        source.matrix =
            options.unspecified == UnspecifiedMatrix::bt709 || high ? ColorMatrix::bt709 : ColorMatrix::smpte170m;
    }
    return source;
}

ColorPlan make_color_plan(const SourceColor& source, OutputColor output, const Normalization& norm) {
    std::array<Row, 3> rows = channel_rows(source, output);
    if (output == OutputColor::bgr) std::swap(rows[0], rows[2]);

    ColorPlan plan;
    plan.num_channels = num_channels(output);
    plan.offset = component_offsets(source, output);
    const double scale = norm.scale;
    // Kept samples may use their whole range: 1023 of a 10-bit stream is 255.75 in 8-bit units.
    const double largest = output == OutputColor::yuv ? static_cast<double>((1 << source.depth) - 1) /
                                                            static_cast<double>(1 << (source.depth - 8))
                                                      : 255.0;
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(plan.num_channels); ++channel) {
        const double mean = norm.mean[channel];
        const double std = norm.std[channel];
        const double step = scale / (64.0 * std);
        for (std::size_t component = 0; component < 3; ++component) {
            const double weight = rows[channel][component];
            plan.fixed[channel][component] = static_cast<std::int32_t>(std::floor(weight * 8192.0 + 0.5));
            plan.factor[channel][component] = rounded(weight * step);
        }
        plan.bias[channel] = rounded(-mean / std);
        const float black = rounded((0.0 * scale - mean) / std);
        const float white = rounded((largest * scale - mean) / std);
        plan.low[channel] = std::min(black, white);
        plan.high[channel] = std::max(black, white);
    }
    return plan;
}

}  // namespace tricodec::image
