// SPDX-License-Identifier: Apache-2.0
#include "tricodec/image/rgb_to_yuv.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "image/cpu/engine.h"
#include "image/cpu/kernels.h"
#include "image/forward_plan.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

/// The planar format that is computed, of which `format` is another layout.
PixelFormat planar(PixelFormat format) {
    using enum PixelFormat;
    constexpr PixelFormat kOthers[] = {nv12, nv16, nv24, p010le, p016le, p210le, p216le, yuv444p16le};
    if (std::ranges::find(kOthers, format) == std::end(kOthers)) return format;
    const auto& other = info(format);
    return planar_format(other.family, other.log2_chroma_w, other.log2_chroma_h, std::min<int>(other.depth, 10));
}

void expect_planar(PixelFormat format) {
    const auto& wanted = info(format);
    TRICODEC_EXPECT(
        wanted.family == ColorFamily::yuv && wanted.num_planes == 3 && wanted.depth <= 12 && wanted.shift == 0 &&
            wanted.log2_chroma_w <= 1 && wanted.log2_chroma_h <= 1,
        unsupported,
        "RGB cannot be converted to " + std::string(wanted.name) +
            "; use yuv420p, yuv422p or yuv444p, also with 10le or 12le, nv12, nv16, nv24, p010le or p210le");
}

void run(const image::ForwardPlan& plan, const RgbPicture& picture, const Frame& out) {
    const image::Kernels* const kernels = image::chosen_kernels();
    (kernels != nullptr ? kernels->rgb_to_yuv : image::rgb_to_yuv_ref)(plan, picture, out);
}

template <class Pointer>
auto* samples(Pointer data, const Plane& plane, int y) {
    return reinterpret_cast<std::uint16_t*>(data + y * plane.stride_bytes);
}

const std::uint16_t* deep_row(const Frame& frame, std::size_t plane, int y) {
    return samples(frame.planes[plane].data, frame.planes[plane], std::clamp(y, 0, frame.height - 1));
}

/// Planar 4:4:4 of more than 8 bits to `out`, of the same depth and fewer chroma samples.
void subsample_deep_chroma(const image::ForwardPlan& plan, const Frame& frame, const Frame& out) {
    const auto& format = info(out.format);
    for (int y = 0; y < frame.height; ++y) {
        std::memcpy(samples(out.planes[0].data, out.planes[0], y), deep_row(frame, 0, y),
                    static_cast<std::size_t>(frame.width) * sizeof(std::uint16_t));
    }
    const int width = format.plane_width(1, out.width);
    const auto& across = plan.across.weight;
    // Sums down the columns, with the first and the last repeated where the taps reach beyond the picture.
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(frame.width) + 4);
    for (std::size_t c = 1; c < 3; ++c) {
        for (int y = 0; y < format.plane_height(1, out.height); ++y) {
            const int top = (y << plan.log2_chroma_h) + plan.down.first;
            const std::uint16_t* rows[3] = {deep_row(frame, c, top), deep_row(frame, c, top + 1),
                                            deep_row(frame, c, top + 2)};
            auto* sum = sums.data() + 1;
            for (int x = 0; x < frame.width; ++x) {
                sum[x] =
                    static_cast<std::uint32_t>(plan.down.weight[0] * rows[0][x] + plan.down.weight[1] * rows[1][x] +
                                               plan.down.weight[2] * rows[2][x]);
            }
            sum[-1] = sum[0];
            sum[frame.width] = sum[frame.width + 1] = sum[frame.width + 2] = sum[frame.width - 1];
            auto* to = samples(out.planes[c].data, out.planes[c], y);
            for (int x = 0; x < width; ++x) {
                const auto* from = sum + (x << plan.log2_chroma_w) + plan.across.first;
                const auto total = static_cast<std::uint32_t>(across[0]) * from[0] +
                                   static_cast<std::uint32_t>(across[1]) * from[1] +
                                   static_cast<std::uint32_t>(across[2]) * from[2];
                to[x] = static_cast<std::uint16_t>((total + 8) >> 4);  // the weights add up to 16
            }
        }
    }
}

}  // namespace

RgbPicture rgb_picture(const Frame& frame) {
    const auto& format = info(frame.format);
    TRICODEC_EXPECT(format.family != ColorFamily::yuv && format.depth == 8, unsupported,
                    "frames of " + std::string(format.name) +
                        " cannot be converted to YUV; use rgb24, bgr24, gbrp or gray of 8 bits");
    RgbPicture picture;
    picture.width = frame.width;
    picture.height = frame.height;
    for (std::size_t c = 0; c < 3; ++c) {
        const auto& layout = format.components[format.num_components == 1 ? 0 : c];
        picture.first[c] = frame.planes[layout.plane].data + layout.offset_bytes;
        picture.stride_bytes[c] = frame.planes[layout.plane].stride_bytes;
        picture.step_bytes = layout.step_bytes;
    }
    return picture;
}

ColorDescription yuv_color(ColorDescription wanted) noexcept {
    if (wanted.matrix == ColorMatrix::unspecified) wanted.matrix = ColorMatrix::smpte170m;
    if (wanted.range == ColorRange::unspecified) wanted.range = ColorRange::limited;
    return wanted;
}

Frame rgb_to_yuv(const RgbPicture& picture, PixelFormat format, const ColorDescription& color) {
    const auto computed = planar(format);
    expect_planar(computed);
    Frame out = alloc_frame(computed, picture.width, picture.height);
    out.color = yuv_color(color);
    run(image::make_forward_plan(info(computed), out.color), picture, out);
    return computed == format ? out : convert_layout(out, format);
}

Frame subsample_chroma(const Frame& frame, PixelFormat format) {
    const auto computed = planar(format);
    expect_planar(computed);
    const auto& from = info(frame.format);
    const bool deep = frame.format == PixelFormat::yuv444p10le || frame.format == PixelFormat::yuv444p12le;
    TRICODEC_EXPECT(frame.format == PixelFormat::yuv444p || (deep && from.depth == info(computed).depth), unsupported,
                    "chroma of " + std::string(from.name) + " cannot be subsampled to " +
                        std::string(to_string(format)) +
                        "; use yuv444p, or yuv444p10le or yuv444p12le for a format of the same depth");
    if (deep) {
        Frame out = alloc_frame(computed, frame.width, frame.height);
        copy_properties(frame, out);
        subsample_deep_chroma(image::make_chroma_plan(info(computed), frame.color.chroma_location), frame, out);
        return computed == format ? out : convert_layout(out, format);
    }
    RgbPicture samples;
    samples.width = frame.width;
    samples.height = frame.height;
    samples.step_bytes = 1;
    for (std::size_t c = 0; c < 3; ++c) {
        samples.first[c] = frame.planes[c].data;
        samples.stride_bytes[c] = frame.planes[c].stride_bytes;
    }
    Frame out = alloc_frame(computed, frame.width, frame.height);
    copy_properties(frame, out);
    run(image::make_chroma_plan(info(computed), frame.color.chroma_location), samples, out);
    return computed == format ? out : convert_layout(out, format);
}

}  // namespace tricodec
