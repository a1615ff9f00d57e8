// SPDX-License-Identifier: Apache-2.0
#include "image/options.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/suggestion.h"
#include "image/color_matrix.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"
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

std::string_view word(Resize resize) {
    switch (resize) {
        case Resize::nearest:
            return "nearest";
        case Resize::bilinear:
            return "bilinear";
        case Resize::bicubic:
            return "bicubic";
    }
    return "?";
}

std::string_view word(UnspecifiedMatrix matrix) {
    switch (matrix) {
        case UnspecifiedMatrix::bt601:
            return "bt601";
        case UnspecifiedMatrix::bt709:
            return "bt709";
        case UnspecifiedMatrix::by_height:
            return "by_height";
    }
    return "?";
}

}  // namespace

std::string_view word(OutputColor color) {
    switch (color) {
        case OutputColor::rgb:
            return "rgb";
        case OutputColor::bgr:
            return "bgr";
        case OutputColor::gray:
            return "gray";
        case OutputColor::yuv:
            return "yuv";
        case OutputColor::rgba:
            return "rgba";
    }
    return "?";
}

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
        text << "resize " << word(options.resize) << (antialiased ? " antialiased" : "") << " to "
             << options.size->width << 'x' << options.size->height << ", ";
    }
    text << word(options.color);
    if (options.chroma == ChromaUpsampling::nearest) text << ", nearest chroma";
    if (options.matrix) text << " by " << to_string(*options.matrix);
    if (options.range) text << ", range " << to_string(*options.range);
    if (options.unspecified != UnspecifiedMatrix::bt601) text << ", unspecified matrix " << word(options.unspecified);
    if (!options.rotate) text << ", not rotated";
    text << ", " << to_string(options.dtype) << ' ' << to_string(options.layout);
    if (options.scale) text << ", scale " << number(*options.scale);
    if (!options.mean.empty()) text << ", mean " << list(options.mean);
    if (!options.std.empty()) text << ", std " << list(options.std);
    return text.str();
}

}  // namespace tricodec::image

namespace tricodec {
namespace {

template <typename Value, std::size_t kCount>
Value parse_word(std::string_view option, std::string_view word,
                 const std::array<std::pair<std::string_view, Value>, kCount>& words) {
    for (const auto& [name, value] : words) {
        if (same_word(word, name)) return value;
    }
    const auto accepted = listed(words, [](const auto& each) { return "\"" + std::string(each.first) + "\""; });
    fail(ErrorCode::invalid_argument, std::string(option) + " \"" + std::string(word) + "\" is not one of " + accepted +
                                          did_you_mean(word, accepted));
}

/// The word of other packages that people say for one of ours, or `name`.
std::string_view meant(std::string_view name,
                       std::initializer_list<std::pair<std::string_view, std::string_view>> spellings) {
    for (const auto& [spelling, word] : spellings) {
        if (same_word(name, spelling)) return word;
    }
    return name;
}

}  // namespace

Resize parse_resize(std::string_view name) {
    name = meant(name, {{"linear", "bilinear"}, {"cubic", "bicubic"}});
    return parse_word<Resize, 3>(
        "resize", name, {{{"nearest", Resize::nearest}, {"bilinear", Resize::bilinear}, {"bicubic", Resize::bicubic}}});
}

OutputColor parse_output_color(std::string_view name) {
    name = meant(name, {{"grey", "gray"},
                        {"grayscale", "gray"},
                        {"greyscale", "gray"},
                        {"gray8", "gray"},
                        {"rgb24", "rgb"},
                        {"bgr24", "bgr"},
                        {"ycbcr", "yuv"}});
    return parse_word<OutputColor, 5>("color", name,
                                      {{{"rgb", OutputColor::rgb},
                                        {"bgr", OutputColor::bgr},
                                        {"gray", OutputColor::gray},
                                        {"yuv", OutputColor::yuv},
                                        {"rgba", OutputColor::rgba}}});
}

Layout parse_layout(std::string_view name) {
    // Batches and sequences add an axis in front, which does not change where a frame's samples stand.
    const bool is_sequence = name.size() > 3 && (name.front() == 'T' || name.front() == 't');
    if (is_sequence) name.remove_prefix(1);
    return parse_word<Layout, 13>("layout", name,
                                  {{{"HWC", Layout::hwc},
                                    {"CHW", Layout::chw},
                                    {"CHW2", Layout::chw2},
                                    {"HWC8", Layout::hwc8},
                                    {"NHWC", Layout::hwc},
                                    {"NCHW", Layout::chw},
                                    {"NCHW2", Layout::chw2},
                                    {"N(C/2)HW2", Layout::chw2},
                                    {"NHWC8", Layout::hwc8},
                                    {"FHWC", Layout::hwc},
                                    {"FCHW", Layout::chw},
                                    {"FCHW2", Layout::chw2},
                                    {"FHWC8", Layout::hwc8}}});
}

std::string_view to_string(Layout layout) noexcept {
    switch (layout) {
        case Layout::hwc:
            return "HWC";
        case Layout::chw:
            return "CHW";
        case Layout::chw2:
            return "CHW2";
        case Layout::hwc8:
            return "HWC8";
    }
    return "?";
}

UnspecifiedMatrix parse_unspecified_matrix(std::string_view name) {
    return parse_word<UnspecifiedMatrix, 3>("unspecified", name,
                                            {{{"bt601", UnspecifiedMatrix::bt601},
                                              {"bt709", UnspecifiedMatrix::bt709},
                                              {"by_height", UnspecifiedMatrix::by_height}}});
}

ChromaUpsampling parse_chroma_upsampling(std::string_view name) {
    return parse_word<ChromaUpsampling, 2>(
        "chroma", name, {{{"interpolated", ChromaUpsampling::interpolated}, {"nearest", ChromaUpsampling::nearest}}});
}

}  // namespace tricodec
