// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/raw_frames.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {
namespace {

/// The rows of the planes of a subsampled picture of height H: "H * 3 / 2" and the like.
std::string rows_of(const PixelFormatInfo& format) {
    const int block = 1 << (format.log2_chroma_w + format.log2_chroma_h);
    const int common = std::gcd(block + 2, block);
    const std::string rows = "H * " + std::to_string((block + 2) / common);
    return block == common ? rows : rows + " / " + std::to_string(block / common);
}

/// "[H * 3 / 2, W]" and the like.
std::string accepted_shape(const PixelFormatInfo& format) {
    if (format.num_planes == 1) return format.num_components == 1 ? "[H, W]" : "[H, W, 3]";
    if (format.num_planes == 3 && format.log2_chroma_w + format.log2_chroma_h == 0) return "[3, H, W]";
    return "[" + rows_of(format) + ", W]";
}

[[noreturn]] void fail_shape(const PixelFormatInfo& format, std::span<const std::int64_t> shape,
                             const std::string& why) {
    const std::string one = accepted_shape(format);
    fail(ErrorCode::invalid_argument, "frames of " + std::string(format.name) + " cannot have shape [" +
                                          listed_numbers(shape) + "]: " + why + "; accepted are " + one +
                                          ", with a first axis of frames before it [F, " + one.substr(1) +
                                          ", and, with width= and height=, any shape of as many dimensions, or of one, "
                                          "that holds as many samples");
}

/// The picture of a shape without the axis of frames.
RawFrames from_shape(const PixelFormatInfo& format, std::span<const std::int64_t> picture,
                     std::span<const std::int64_t> shape) {
    const bool planes = format.num_planes == 3 && picture.size() == 3;
    const std::int64_t rows = picture[planes ? 1 : 0];
    const std::int64_t width = picture[planes ? 2 : 1];
    // Rows of luma are followed by two components of a block-th of its samples each.
    const std::int64_t block = std::int64_t{1} << (format.log2_chroma_w + format.log2_chroma_h);
    const bool stacked = format.family == ColorFamily::yuv && !planes;
    if (stacked && rows * block % (block + 2) != 0) {
        fail_shape(format, shape, "its rows are not " + rows_of(format) + " of any height H");
    }
    const std::int64_t height = stacked ? rows * block / (block + 2) : rows;
    const Limits bounds = limits();
    if (width < 1 || height < 1) fail_shape(format, shape, "the picture has no pixels");
    TRICODEC_EXPECT(
        width <= bounds.max_width && height <= bounds.max_height, refused,
        "frames of " + size_text(width, height) + " exceed the limits max_width and max_height (tricodec.set_limits)");
    RawFrames result{.width = static_cast<int>(width), .height = static_cast<int>(height)};
    const auto wanted = packed_shape(format.format, result.width, result.height);
    if (!std::equal(wanted.begin(), wanted.end(), picture.begin(), picture.end())) {
        fail_shape(format, shape, "its chroma planes do not fill whole rows; give width= and height=");
    }
    return result;
}

}  // namespace

int picture_ndim(PixelFormat format) {
    const PixelFormatInfo& layout = info(format);
    const bool three =
        layout.num_components == 3 &&
        (layout.num_planes == 1 || (layout.num_planes == 3 && layout.log2_chroma_w == 0 && layout.log2_chroma_h == 0));
    return three ? 3 : 2;
}

std::vector<std::int64_t> picture_shape(PixelFormat format, int width, int height) {
    auto shape = packed_shape(format, width, height);
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    return shape;
}

std::string raw_layout_name(PixelFormat format) {
    if (picture_ndim(format) == 2) return "FHW";
    return info(format).num_planes == 1 ? "FHWC" : "FCHW";
}

RawFrames read_raw_shape(PixelFormat format, std::span<const std::int64_t> shape, std::int64_t width,
                         std::int64_t height) {
    const PixelFormatInfo& layout = info(format);
    const auto ndim = static_cast<std::size_t>(picture_ndim(format));
    const bool sequence = shape.size() == ndim + 1;
    const auto picture = shape.subspan(sequence ? 1 : 0);
    TRICODEC_EXPECT((width == 0) == (height == 0), invalid_argument,
                    "width is " + std::to_string(width) + " and height is " + std::to_string(height) +
                        "; give both, or neither to take them from the shape");
    RawFrames result;
    if (width == 0) {
        if (picture.size() != ndim) fail_shape(layout, shape, "it has " + std::to_string(shape.size()) + " dimensions");
        result = from_shape(layout, picture, shape);
    } else {
        const Limits bounds = limits();
        TRICODEC_EXPECT(width >= 1 && height >= 1 && width <= bounds.max_width && height <= bounds.max_height,
                        invalid_argument,
                        "width and height are " + std::to_string(width) + " and " + std::to_string(height) +
                            "; accepted are 1 to the limits " + std::to_string(bounds.max_width) + " and " +
                            std::to_string(bounds.max_height) + " (tricodec.set_limits)");
        if (picture.size() != ndim && shape.size() != 1) {
            fail_shape(layout, shape, "it has " + std::to_string(shape.size()) + " dimensions");
        }
        result = {.width = static_cast<int>(width), .height = static_cast<int>(height)};
        const std::int64_t wanted = layout.packed_bytes(result.width, result.height) / layout.bytes_per_sample;
        std::int64_t given = 1;
        for (const std::int64_t extent : picture) given *= extent;
        if (given != wanted) {
            fail_shape(layout, shape,
                       "a picture of " + size_text(width, height) + " has " + std::to_string(wanted) +
                           " samples, not " + std::to_string(given));
        }
    }
    result.sequence = sequence;
    result.num_frames = sequence ? shape[0] : 1;
    return result;
}

}  // namespace tricodec
