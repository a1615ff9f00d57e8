// SPDX-License-Identifier: Apache-2.0
/// The options of a Transform: names, texts, and the values that they take.
#include <string>
#include <string_view>
#include <vector>

#include "base/named_values.h"
#include "base/never_destroyed.h"
#include "base/option_fields.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

constexpr NamedValues<Resize, 5> kResizes = {"resize",
                                             {{"nearest", Resize::nearest},
                                              {"bilinear", Resize::bilinear},
                                              {"bicubic", Resize::bicubic},
                                              {"linear", Resize::bilinear},
                                              {"cubic", Resize::bicubic}}};
constexpr NamedValues<OutputColor, 12> kColors = {"color",
                                                  {{"rgb", OutputColor::rgb},
                                                   {"bgr", OutputColor::bgr},
                                                   {"gray", OutputColor::gray},
                                                   {"yuv", OutputColor::yuv},
                                                   {"rgba", OutputColor::rgba},
                                                   {"grey", OutputColor::gray},
                                                   {"grayscale", OutputColor::gray},
                                                   {"greyscale", OutputColor::gray},
                                                   {"gray8", OutputColor::gray},
                                                   {"rgb24", OutputColor::rgb},
                                                   {"bgr24", OutputColor::bgr},
                                                   {"ycbcr", OutputColor::yuv}}};
constexpr NamedValues<Layout, 5> kLayouts = {"layout",
                                             {{"HWC", Layout::hwc},
                                              {"CHW", Layout::chw},
                                              {"CHW2", Layout::chw2},
                                              {"HWC8", Layout::hwc8},
                                              {"(C/2)HW2", Layout::chw2}}};
constexpr NamedValues<UnspecifiedMatrix, 3> kUnspecified = {"unspecified",
                                                            {{"bt601", UnspecifiedMatrix::bt601},
                                                             {"bt709", UnspecifiedMatrix::bt709},
                                                             {"by_height", UnspecifiedMatrix::by_height}}};
constexpr NamedValues<ChromaUpsampling, 2> kChroma = {
    "chroma", {{"interpolated", ChromaUpsampling::interpolated}, {"nearest", ChromaUpsampling::nearest}}};

/// Front ends check how many numbers there are.
int extent(const std::vector<std::int64_t>& numbers, std::size_t i) {
    const auto number = static_cast<int>(numbers.at(i));
    TRICODEC_EXPECT(number == numbers[i], invalid_argument,
                    std::to_string(numbers[i]) + " is out of range; numbers of crop and size are at most 2^31 - 1");
    return number;
}
struct CropNumbers {
    static Crop from(const std::vector<std::int64_t>& numbers) {
        return {extent(numbers, 0), extent(numbers, 1), extent(numbers, 2), extent(numbers, 3)};
    }
    static std::vector<std::int64_t> to(const Crop& crop) { return {crop.top, crop.left, crop.height, crop.width}; }
};
struct SizeNumbers {
    static Size from(const std::vector<std::int64_t>& numbers) { return {extent(numbers, 0), extent(numbers, 1)}; }
    static std::vector<std::int64_t> to(const Size& size) { return {size.height, size.width}; }
};

std::vector<Option<TransformOptions>> make_options() {
    using T = TransformOptions;
    return {
        option<&T::crop, CropNumbers>(
            "crop", "the part to keep, in pixels of the upright picture. Without it the whole picture is kept.",
            "top, left, height, width"),
        option<&T::size, SizeNumbers>("size", "size of the result. Without it the size of the crop is kept.",
                                      "height, width"),
        option<&T::resize, OneOf<kResizes>>("resize", "filter of the resize.", kResizes.names()),
        option<&T::antialias>(
            "antialias",
            "widen the filter when the picture shrinks, so that every pixel counts; \"nearest\" ignores it."),
        option<&T::chroma, OneOf<kChroma>>(
            "chroma",
            "how subsampled chroma comes to full resolution: \"interpolated\" from the samples around a pixel, or "
            "\"nearest\", the sample that covers it: for a model trained on frames of torchcodec, decord or OpenCV.",
            kChroma.names()),
        option<&T::color, OneOf<kColors>>(
            "color",
            "channels of the result. \"yuv\" gives the stream's own samples at full resolution, \"rgba\" RGB and the "
            "opacity, which is full for streams without transparency.",
            kColors.names()),
        option<&T::matrix, Named<parse_color_matrix>>(
            "matrix", "color matrix to use instead of the stream's: \"bt601\", \"bt709\", \"bt2020\", ..."),
        option<&T::range, Named<parse_color_range>>("range", "range of the samples to use instead of the stream's.",
                                                    "limited, full"),
        option<&T::unspecified, OneOf<kUnspecified>>(
            "unspecified",
            "matrix of a stream that states none; \"by_height\" is BT.709 from 720 lines on, else BT.601.",
            kUnspecified.names()),
        option<&T::rotate>("rotate", "turn the picture upright according to its metadata."),
        option<&T::dtype, Named<parse_dtype>>(
            "dtype", "type of the elements of the result. A numpy array of bfloat16 needs the package ml_dtypes.",
            "uint8, float16, bfloat16, float32"),
        option<&T::layout, Named<parse_layout>>(
            "layout",
            "order of the axes, or TensorRT's \"CHW2\" (channels in pairs, [ceil(C / 2), H, W, 2]) and \"HWC8\" ([H, "
            "W, 8 * ceil(C / 8)]), which are filled up with zeros. A leading N, F or T is ignored.",
            kLayouts.names()),
        option<&T::scale>("scale",
                          "float results are (value * scale - mean) / std with value in 0..255; without it 1/255."),
        option<&T::mean>("mean", "one number, or one for each channel, for float results; without it 0."),
        option<&T::std>("std", "one number, or one for each channel, for float results; without it 1."),
    };
}

}  // namespace

OutputColor parse_output_color(std::string_view name) {
    return kColors.value_of(name);
}

Layout parse_layout(std::string_view name) {
    // Batches and sequences add an axis in front, which does not change where a frame's samples stand.
    const auto has = [&](std::size_t at, std::string_view letters) { return letters.find(name[at]) != letters.npos; };
    if (name.size() > 3 && has(0, "NFTnft") && has(1, "HChc(")) name.remove_prefix(1);
    return kLayouts.value_of(name);
}

Options<TransformOptions> transform_options() {
    static NeverDestroyed<std::vector<Option<TransformOptions>>> options(make_options());
    return *options;
}

std::string_view to_string(Resize resize) noexcept {
    return kResizes.name_of(resize);
}

std::string_view to_string(OutputColor color) noexcept {
    return kColors.name_of(color);
}

std::string_view to_string(Layout layout) noexcept {
    return kLayouts.name_of(layout);
}

std::string_view to_string(UnspecifiedMatrix matrix) noexcept {
    return kUnspecified.name_of(matrix);
}

}  // namespace tricodec
