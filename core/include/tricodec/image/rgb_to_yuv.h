// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec {

/// 8-bit RGB samples of full range wherever they lie: sample (x, y) of a component is at
/// first[component] + y * stride_bytes + x * step_bytes. Red, green and blue in this order.
struct RgbPicture {
    int width = 0;
    int height = 0;
    std::array<const std::byte*, 3> first{};
    std::array<std::ptrdiff_t, 3> stride_bytes{};
    int step_bytes = 3;  ///< 1: a plane each; 3: rgb24; 4: with a fourth byte that is not looked at
};

/// The picture of a frame in host memory of format rgb24, bgr24, gbrp or gray. Throws Error(unsupported) for others.
[[nodiscard]] RgbPicture rgb_picture(const Frame& frame);

/// What rgb_to_yuv() makes of a description: unspecified matrix and range are BT.601 and limited, as Transform reads
/// streams that do not say. The rest stays.
[[nodiscard]] ColorDescription yuv_color(ColorDescription wanted) noexcept;

/// RGB to YUV as docs/reference/transform.md section 10 defines it, into a new frame with the color yuv_color(color).
/// `format` is yuv420p, yuv422p or yuv444p of 8, 10 or 12 bits, or one that convert_layout() makes of these (nv12,
/// p010le, ...). Throws Error(unsupported) for other formats and for matrices that are not linear.
/// Thread safety: safe.
[[nodiscard]] Frame rgb_to_yuv(const RgbPicture& picture, PixelFormat format, const ColorDescription& color);

/// A frame of yuv444p, yuv444p10le or yuv444p12le with fewer chroma samples, by the same filters, sited as its color
/// says. `format` as above; of 10 or 12 bits it is of as many.
[[nodiscard]] Frame subsample_chroma(const Frame& frame, PixelFormat format);

}  // namespace tricodec
