// SPDX-License-Identifier: Apache-2.0
#include "encode/encoded_samples.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "tricodec/base/error.h"
#include "tricodec/image/rgb_to_yuv.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

bool same_sampling(const PixelFormatInfo& a, const PixelFormatInfo& b) noexcept {
    return a.family == b.family && a.log2_chroma_w == b.log2_chroma_w && a.log2_chroma_h == b.log2_chroma_h;
}

/// The planar format of this depth with the same chroma.
PixelFormat planar_of(const PixelFormatInfo& format, int depth) noexcept {
    return planar_format(format.family, format.log2_chroma_w, format.log2_chroma_h, depth);
}

template <class Word>
Word* row_of(const Frame& frame, int plane, int y) noexcept {
    const auto& place = frame.planes[static_cast<std::size_t>(plane)];
    return reinterpret_cast<Word*>(place.data + y * place.stride_bytes);
}

template <class To>
void round_rows(const Frame& from, const Frame& to, unsigned shift, unsigned largest) {
    const auto& layout = info(from.format);
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const int width = layout.plane_width(plane, from.width);
        for (int y = 0; y < layout.plane_height(plane, from.height); ++y) {
            const auto* in = row_of<const std::uint16_t>(from, plane, y);
            auto* out = row_of<To>(to, plane, y);
            for (int x = 0; x < width; ++x)
                out[x] = static_cast<To>(std::min((in[x] + (1U << shift >> 1U)) >> shift, largest));
        }
    }
}

/// Fewer bits, rounded to nearest.
Frame with_depth(const Frame& frame, int depth) {
    const auto& layout = info(frame.format);
    const Frame planes = convert_layout(frame, planar_of(layout, layout.depth));
    Frame result = alloc_frame(planar_of(layout, depth), frame.width, frame.height);
    copy_properties(frame, result);
    if (depth == 8) warn_of_hdr(frame.color);
    const auto shift = static_cast<unsigned>(layout.depth - depth);
    const auto largest = (1U << static_cast<unsigned>(depth)) - 1U;
    depth == 8 ? round_rows<std::uint8_t>(planes, result, shift, largest)
               : round_rows<std::uint16_t>(planes, result, shift, largest);
    return result;
}

/// What a Transform makes of the frame, in planes of `depth` bits.
Frame transformed(const Frame& frame, TransformOptions options, ColorFamily family, int depth) {
    options.color = family == ColorFamily::rgb    ? OutputColor::rgb
                    : family == ColorFamily::gray ? OutputColor::gray
                                                  : OutputColor::yuv;
    const bool to_rgb = family == ColorFamily::rgb && info(frame.format).family == ColorFamily::yuv;
    const auto matrix = frame.color.matrix;
    TRICODEC_EXPECT(!to_rgb || (matrix != ColorMatrix::bt2020_cl && matrix != ColorMatrix::ictcp), unsupported,
                    "frames of the color matrix " + std::string(to_string(matrix)) +
                        " cannot be encoded as RGB, because it is not linear; use an encoder or a pixel_format of YUV");
    options.layout = Layout::chw;
    options.dtype = depth == 8 ? DType::uint8 : DType::float32;
    if (depth > 8) options.scale = 1.0F;  // in units of 8-bit samples
    // Samples of gray and RGB stay as they are.
    if (info(frame.format).family == family && family != ColorFamily::yuv) options.range = ColorRange::full;
    const Tensor samples = Transform{options}(frame);
    const auto& shape = samples.view.shape;
    const int height = static_cast<int>(shape[1]);
    const int width = static_cast<int>(shape[2]);
    Frame result = alloc_frame(planar_format(family, 0, 0, depth), width, height);
    copy_properties(frame, result);
    if (options.rotate) result.orientation = {};
    const auto largest = static_cast<float>((1 << depth) - 1);
    const float unit = family == ColorFamily::yuv ? static_cast<float>(1 << (depth - 8)) : largest / 255.0F;
    const auto& layout = info(result.format);
    for (std::size_t c = 0; c < layout.num_components; ++c) {
        const int plane = layout.components[c].plane;
        for (int y = 0; y < height; ++y) {
            const auto first = (static_cast<std::int64_t>(c) * height + y) * width;
            if (depth == 8) {
                std::copy_n(static_cast<const std::uint8_t*>(samples.view.data) + first, width,
                            row_of<std::uint8_t>(result, plane, y));
                continue;
            }
            const auto* from = static_cast<const float*>(samples.view.data) + first;
            auto* to = row_of<std::uint16_t>(result, plane, y);
            for (int x = 0; x < width; ++x)
                to[x] = static_cast<std::uint16_t>(std::clamp(from[x] * unit + 0.5F, 0.0F, largest));
        }
    }
    return result;
}

/// RGB planes of more than 8 bits as YUV of 4:4:4, in the same depth.
Frame deep_rgb_to_yuv(const Frame& rgb, ColorDescription color) {
    const int depth = info(rgb.format).depth;
    color = yuv_color(color);
    const auto weights = luma_weights(color.matrix);
    TRICODEC_EXPECT(weights.has_value(), unsupported,
                    "RGB of more than 8 bits cannot be encoded with the color matrix " +
                        std::string(to_string(color.matrix)) + "; use bt709, bt2020nc or smpte170m");
    const auto [red, blue] = *weights;
    Frame yuv = alloc_frame(planar_format(ColorFamily::yuv, 0, 0, depth), rgb.width, rgb.height);
    copy_properties(rgb, yuv);
    yuv.color = color;
    const double largest = (1 << depth) - 1;
    const double step = 1 << (depth - 8);
    const bool full = color.range == ColorRange::full;
    const double luma_span = full ? largest : 219 * step;
    const double chroma_span = full ? largest : 224 * step;
    const double black = full ? 0 : 16 * step;
    const auto stored = [&](double value) { return static_cast<std::uint16_t>(std::clamp(value + 0.5, 0.0, largest)); };
    for (int y = 0; y < rgb.height; ++y) {
        const auto* const g = row_of<const std::uint16_t>(rgb, 0, y);
        const auto* const b = row_of<const std::uint16_t>(rgb, 1, y);
        const auto* const r = row_of<const std::uint16_t>(rgb, 2, y);
        for (int x = 0; x < rgb.width; ++x) {
            const double luma = (red * r[x] + (1 - red - blue) * g[x] + blue * b[x]) / largest;
            row_of<std::uint16_t>(yuv, 0, y)[x] = stored(black + luma_span * luma);
            row_of<std::uint16_t>(yuv, 1, y)[x] =
                stored(128 * step + chroma_span * (b[x] / largest - luma) / (2 * (1 - blue)));
            row_of<std::uint16_t>(yuv, 2, y)[x] =
                stored(128 * step + chroma_span * (r[x] / largest - luma) / (2 * (1 - red)));
        }
    }
    return yuv;
}

/// The depth in which samples pass: what is stored in 16 bits of YUV has ten that encoders look at.
int passing_depth(const PixelFormatInfo& from, const PixelFormatInfo& to) noexcept {
    if (to.family != ColorFamily::yuv) return to.depth;
    if (from.depth <= 8 || to.depth <= 8) return 8;
    return to.depth == 16 ? 10 : to.depth;
}

/// The rest of the way, from planes of full size.
Frame finished(Frame frame, PixelFormat format, const ColorDescription& color) {
    const auto& to = info(format);
    if (to.family != ColorFamily::yuv) return frame;
    if (info(frame.format).family == ColorFamily::rgb && info(frame.format).depth > 8) {
        frame = deep_rgb_to_yuv(frame, color);
    }
    const bool subsampled = to.log2_chroma_w > 0 || to.log2_chroma_h > 0;
    return info(frame.format).family == ColorFamily::yuv && subsampled ? subsample_chroma(frame, format) : frame;
}

}  // namespace

Frame resampled(const Frame& given, const TransformOptions& geometry, PixelFormat format,
                const ColorDescription& color) {
    const Frame frame = to_host(given);
    const auto& from = info(frame.format);
    const auto& to = info(format);
    // An Encoder converts gray and RGB to YUV, and YUV of 8 bits to RGB.
    const auto family = to.family == ColorFamily::yuv ? from.family : to.family;
    TransformOptions options;
    options.crop = geometry.crop;
    options.size = geometry.size;
    options.rotate = geometry.rotate;
    return finished(transformed(frame, options, family, passing_depth(from, to)), format, color);
}

Frame to_encoded_samples(const Frame& frame, PixelFormat format, const ColorDescription& color) {
    if (frame.format == format) return frame;
    const auto& from = info(frame.format);
    const auto& to = info(format);
    const bool deep = from.depth > 8;
    if (same_sampling(from, to)) {
        if (to.depth < from.depth) return with_depth(to_host(frame), to.depth);
        // A shift keeps the colors of YUV only: white of gray and RGB is the largest value.
        if (to.depth == from.depth || to.family == ColorFamily::yuv) return frame;
    }
    // An Encoder converts these.
    const bool to_yuv = to.family == ColorFamily::yuv && from.family != ColorFamily::yuv;
    if (to_yuv && !deep) return frame;
    if (to_yuv && from.family == ColorFamily::gray) {
        return to.depth >= from.depth ? frame : with_depth(to_host(frame), to.depth);
    }
    if (to.family == ColorFamily::rgb && to.depth == 8) return frame;
    if (to.family == ColorFamily::yuv && frame.format == planar_format(from.family, 0, 0, passing_depth(from, to))) {
        return finished(to_host(frame), format, color);
    }
    TransformOptions same;
    same.rotate = false;
    return resampled(frame, same, format, color);
}

}  // namespace tricodec
