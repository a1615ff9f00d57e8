// SPDX-License-Identifier: Apache-2.0
/// Pictures in libavutil's formats that PixelFormat does not have: packed pixels, palettes, alpha, other byte orders.
#pragma once

#include "ffmpeg/ffmpeg.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// The format in which pictures of `format` are decoded: the same one, or the one that keeps every sample but those of
/// transparency. `unknown` for formats of hardware, floats, Bayer patterns and XYZ.
[[nodiscard]] PixelFormat decoded_format(AVPixelFormat format) noexcept;

/// Sets format, size, planes, owner and alpha of a frame in decoded_format(), which must be known. Planes that have the
/// layout already are shared, others are copied.
[[nodiscard]] Frame repacked(std::shared_ptr<const AVFrame> picture);

/// True for libavutil's formats of four bytes a pixel, which hold the pictures of rgb24, bgr24 and gbrp.
[[nodiscard]] bool is_packed_rgb32(AVPixelFormat format) noexcept;

/// The pixels of a frame of 8-bit RGB in such a format, opaque.
[[nodiscard]] ff::FramePtr to_packed_rgb32(const Frame& frame, AVPixelFormat format);

}  // namespace tricodec
