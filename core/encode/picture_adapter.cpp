// SPDX-License-Identifier: Apache-2.0
#include "encode/picture_adapter.h"

#include <algorithm>
#include <cstdint>

#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec {
namespace {

Transform to_samples(const std::optional<Crop>& crop, Size size, OutputColor color, DType dtype = DType::uint8) {
    TransformOptions options;
    options.crop = crop;
    options.size = size;
    options.color = color;
    options.layout = Layout::chw;
    options.dtype = dtype;
    if (dtype != DType::uint8) options.scale = 1.0F;  // floats in units of 8-bit samples
    options.rotate = false;                           // the container says how the pictures are turned
    return Transform{options};
}

bool same_sampling(const PixelFormatInfo& a, const PixelFormatInfo& b) noexcept {
    return a.family == b.family && a.log2_chroma_w == b.log2_chroma_w && a.log2_chroma_h == b.log2_chroma_h &&
           a.num_components == b.num_components;
}

}  // namespace

PictureAdapter::PictureAdapter(std::optional<Crop> crop, Size size, PixelFormat format)
    : crop_(crop),
      size_(size),
      format_(format),
      transform_(to_samples(crop, size, OutputColor::yuv)),
      deep_(to_samples(crop, size, OutputColor::yuv, DType::float32)) {}

Frame PictureAdapter::operator()(const Frame& frame) const {
    const auto& from = info(frame.format);
    const auto& to = info(format_);
    const bool fits = !crop_ && frame.width - size_.width >= 0 && frame.width - size_.width < (1 << to.log2_chroma_w) &&
                      frame.height - size_.height >= 0 && frame.height - size_.height < (1 << to.log2_chroma_h);
    // The encoder rearranges samples and converts RGB itself.
    if (fits && (same_sampling(from, to) || from.family == ColorFamily::rgb)) {
        Frame cut = frame;
        cut.width = size_.width;
        cut.height = size_.height;
        return cut;
    }
    const bool deep = from.family == ColorFamily::yuv && from.depth > 8 && to.depth > 8;
    if (deep) return resampled_deep(frame.device.kind == Device::Kind::cpu ? frame : to_host(frame));
    return resampled(frame.device.kind == Device::Kind::cpu ? frame : to_host(frame));
}

Frame PictureAdapter::resampled(const Frame& frame) const {
    const bool rgb = info(frame.format).family == ColorFamily::rgb;
    const PixelFormat planes = rgb ? PixelFormat::gbrp : PixelFormat::yuv444p;
    Frame full = alloc_frame(planes, size_.width, size_.height);
    TensorView out;
    out.data = full.planes[0].data;
    out.dtype = DType::uint8;
    out.shape = {3, size_.height, size_.width};
    out.strides_bytes = contiguous_strides(out.shape, out.dtype);
    if (rgb) {
        to_samples(crop_, size_, OutputColor::rgb)(frame, out);
        // CHW is R, G, B; gbrp's planes are G, B, R.
        full.planes = {full.planes[1], full.planes[2], full.planes[0]};
    } else {
        transform_(frame, out);
    }
    copy_properties(frame, full);
    if (rgb || format_ == PixelFormat::yuv444p) return full;
    Frame result = subsample_chroma(full, format_);
    copy_properties(frame, result);
    return result;
}

Frame PictureAdapter::resampled_deep(const Frame& frame) const {
    // What is stored in 16 bits has ten that encoders look at.
    const int depth = info(format_).depth == 12 ? 12 : 10;
    const Tensor values = deep_(frame);
    Frame full =
        alloc_frame(depth == 12 ? PixelFormat::yuv444p12le : PixelFormat::yuv444p10le, size_.width, size_.height);
    copy_properties(frame, full);
    const auto unit = static_cast<float>(1 << (depth - 8));
    const auto largest = static_cast<float>((1 << depth) - 1);
    const auto* from = static_cast<const float*>(values.view.data);
    for (const auto& plane : full.planes) {
        for (int y = 0; y < size_.height; ++y, from += size_.width) {
            auto* to = reinterpret_cast<std::uint16_t*>(plane.data + y * plane.stride_bytes);
            for (int x = 0; x < size_.width; ++x) {
                to[x] = static_cast<std::uint16_t>(std::clamp(from[x] * unit + 0.5F, 0.0F, largest));
            }
        }
    }
    return subsample_chroma(full, format_);
}

}  // namespace tricodec
