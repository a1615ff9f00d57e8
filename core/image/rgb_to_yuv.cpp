// SPDX-License-Identifier: Apache-2.0
#include "tricodec/image/rgb_to_yuv.h"

#include <string>

#include "image/cpu/engine.h"
#include "image/cpu/kernels.h"
#include "image/cpu/rgb_kernels.h"
#include "image/forward_plan.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

/// The kernels of the instruction set that this process uses, or null where it is image/ref.
const image::RgbKernels* chosen() {
    static const image::RgbKernels* const kernels = []() -> const image::RgbKernels* {
        const image::Kernels* const all = image::chosen_kernels();
        if (all == nullptr) return nullptr;
        for (const auto& each : image::supported_rgb_kernels()) {
            if (each.target == all->target) return &each;
        }
        return nullptr;
    }();
    return kernels;
}

/// The planar format that is computed, of which `format` is another layout.
PixelFormat planar(PixelFormat format) {
    switch (format) {
        case PixelFormat::nv12:
            return PixelFormat::yuv420p;
        case PixelFormat::nv16:
            return PixelFormat::yuv422p;
        case PixelFormat::nv24:
            return PixelFormat::yuv444p;
        case PixelFormat::p010le:
        case PixelFormat::p016le:
            return PixelFormat::yuv420p10le;
        case PixelFormat::p210le:
        case PixelFormat::p216le:
            return PixelFormat::yuv422p10le;
        case PixelFormat::yuv444p16le:
            return PixelFormat::yuv444p10le;
        default:
            return format;
    }
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
    if (const auto* kernels = chosen()) {
        image::rgb_to_yuv_cpu(*kernels, plan, picture, out);
    } else {
        image::rgb_to_yuv_ref(plan, picture, out);
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
        image::subsample_deep_chroma(image::make_chroma_plan(info(computed), frame.color.chroma_location), frame, out);
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
