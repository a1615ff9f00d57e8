// SPDX-License-Identifier: Apache-2.0
#include "image/options.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/suggestion.h"
#include "image/color_matrix.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

std::string number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

std::string list(const std::vector<float>& values) {
    return "[" + listed(values, number) + "]";
}

void validate_crop(const Crop& crop) {
    TRICODEC_EXPECT(crop.top >= 0 && crop.left >= 0 && crop.height >= 1 && crop.width >= 1, invalid_argument,
                    "crop (top " + std::to_string(crop.top) + ", left " + std::to_string(crop.left) + ", height " +
                        std::to_string(crop.height) + ", width " + std::to_string(crop.width) +
                        ") is not a rectangle of pixels: top and left must be 0 or more, height and width 1 or more");
}

void validate_size(const Size& size) {
    const std::string text =
        "size (height " + std::to_string(size.height) + ", width " + std::to_string(size.width) + ")";
    TRICODEC_EXPECT(size.height >= 1 && size.width >= 1, invalid_argument, text + " must be 1 or more each way");
    const Limits bounds = limits();
    TRICODEC_EXPECT(size.height <= bounds.max_height && size.width <= bounds.max_width &&
                        std::int64_t{size.height} * size.width <= bounds.max_pixels,
                    refused,
                    text + " exceeds limits.max_height, max_width or max_pixels (" + std::to_string(bounds.max_height) +
                        ", " + std::to_string(bounds.max_width) + ", " + std::to_string(bounds.max_pixels) +
                        "); ask for less or raise the limit");
}

void validate_matrix(ColorMatrix matrix, OutputColor color) {
    TRICODEC_EXPECT(
        matrix != ColorMatrix::rgb, invalid_argument,
        "matrix \"rgb\" says that samples are RGB already, which their pixel format decides; name the matrix "
        "of a YUV stream, for example \"bt709\", or leave it out");
    if (color == OutputColor::rgb || color == OutputColor::bgr || color == OutputColor::rgba) {
        if (matrix != ColorMatrix::unspecified) expect_linear(matrix);
    }
}

void validate_channels(std::string_view option, const std::vector<float>& values, OutputColor color) {
    const int channels = num_channels(color);
    TRICODEC_EXPECT(values.size() <= 1 || values.size() == static_cast<std::size_t>(channels), invalid_argument,
                    std::string(option) + " has " + std::to_string(values.size()) + " numbers; accepted are one, or " +
                        std::to_string(channels) + ", one a channel");
    for (const float value : values) {
        TRICODEC_EXPECT(std::isfinite(value), invalid_argument,
                        std::string(option) + " " + list(values) + " must hold finite numbers");
    }
}

void validate_normalization(const TransformOptions& options) {
    if (options.dtype == DType::uint8) {
        TRICODEC_EXPECT(
            !options.scale && options.mean.empty() && options.std.empty(), invalid_argument,
            "scale, mean and std do not go with dtype \"uint8\"; use dtype \"float32\", \"float16\" or \"bfloat16\", "
            "or leave them out");
        return;
    }
    validate_channels("mean", options.mean, options.color);
    validate_channels("std", options.std, options.color);
    for (const float value : options.std) {
        TRICODEC_EXPECT(value != 0.0F, invalid_argument, "std " + list(options.std) + " must not hold 0");
    }
    const double scale = options.scale.value_or(1.0F / 255.0F);
    TRICODEC_EXPECT(std::isfinite(scale) && scale != 0.0, invalid_argument,
                    "scale " + number(scale) + " must be a finite number other than 0");
    // A filter's overshoot and three matrix terms stay below 2^11 in units of 0..255 (docs/reference/transform.md 4.4
    // and 5.2).
    for (std::size_t i = 0; i < 4; ++i) {
        const auto at = [i](const std::vector<float>& values, float otherwise) {
            return static_cast<double>(values.empty() ? otherwise : values[i < values.size() ? i : values.size() - 1]);
        };
        const double mean = at(options.mean, 0.0F);
        const double std = at(options.std, 1.0F);
        const double most = (2048.0 * std::abs(scale) + std::abs(mean)) / std::abs(std);
        TRICODEC_EXPECT(most < static_cast<double>(std::numeric_limits<float>::max()), invalid_argument,
                        "scale " + number(scale) + ", mean " + number(mean) + " and std " + number(std) +
                            " give values beyond the largest float32; use smaller ones");
    }
}

}  // namespace

void validate(const TransformOptions& options) {
    TRICODEC_EXPECT(
        options.dtype == DType::uint8 || options.dtype == DType::float16 || options.dtype == DType::bfloat16 ||
            options.dtype == DType::float32,
        invalid_argument,
        "dtype '" + std::string(to_string(options.dtype)) + "' is not one of uint8, float16, bfloat16, float32");
    if (options.crop) validate_crop(*options.crop);
    if (options.size) validate_size(*options.size);
    if (options.matrix) validate_matrix(*options.matrix, options.color);
    TRICODEC_EXPECT(
        options.color != OutputColor::rgba || options.layout == Layout::hwc || options.layout == Layout::chw,
        invalid_argument,
        "color \"rgba\" does not go with layout \"" + std::string(to_string(options.layout)) +
            "\"; use \"HWC\" or \"CHW\"");
    validate_normalization(options);
}

std::string describe(const TransformOptions& options) {
    std::ostringstream text;
    if (options.crop) {
        text << "crop " << options.crop->width << 'x' << options.crop->height << '+' << options.crop->left << '+'
             << options.crop->top << ", ";
    }
    const bool antialiased = options.antialias && options.resize != Resize::nearest;
    if (options.size) {
        text << "resize " << to_string(options.resize) << (antialiased ? " antialiased" : "") << " to "
             << options.size->width << 'x' << options.size->height << ", ";
    }
    text << to_string(options.color);
    if (options.chroma == ChromaUpsampling::nearest) text << ", nearest chroma";
    if (options.matrix) text << " by " << to_string(*options.matrix);
    if (options.range) text << ", range " << to_string(*options.range);
    if (options.unspecified != UnspecifiedMatrix::bt601)
        text << ", unspecified matrix " << to_string(options.unspecified);
    if (!options.rotate) text << ", not rotated";
    text << ", " << to_string(options.dtype) << ' ' << to_string(options.layout);
    if (options.scale) text << ", scale " << number(*options.scale);
    if (!options.mean.empty()) text << ", mean " << list(options.mean);
    if (!options.std.empty()) text << ", std " << list(options.std);
    return text.str();
}

}  // namespace tricodec::image
