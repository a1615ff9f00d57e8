// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tricodec/image/rgb_to_yuv.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec::image {

/// Where a chroma sample lies among the two luma samples that it covers along an axis.
enum class Site { left, middle, right };
[[nodiscard]] Site site_across(ChromaLocation location) noexcept;
[[nodiscard]] Site site_down(ChromaLocation location) noexcept;

/// Weights of the pixels around luma position `at` along one axis, for one chroma sample; they add up to 4.
struct ChromaTaps {
    int first = 0;                       ///< of the first tap, from the luma position that the sample's number means
    std::array<int, 3> weight{4, 0, 0};  ///< of the pixels first, first + 1, first + 2
};

/// The constants of docs/reference/transform.md section 10.
struct ForwardPlan {
    std::array<std::array<std::int16_t, 3>, 3> coefs{};  ///< [Y, U, V][R, G, B], Q14 in 8-bit units
    std::int32_t luma_bias = 0;
    std::int32_t chroma_bias = 0;
    int luma_shift = 0;
    int chroma_shift = 0;
    int largest = 255;  ///< sample value
    int log2_chroma_w = 0;
    int log2_chroma_h = 0;
    ChromaTaps across;
    ChromaTaps down;
};

/// `format` is planar YUV of 8 to 12 bits; nothing of `color` is unspecified but the chroma location.
[[nodiscard]] ForwardPlan make_forward_plan(const PixelFormatInfo& format, const ColorDescription& color);

/// The same filters for samples that are YUV already, of 8 bits.
[[nodiscard]] ForwardPlan make_chroma_plan(const PixelFormatInfo& format, ChromaLocation location);

/// The definition of docs/reference/transform.md section 10, sample by sample: the oracle of every other engine.
void rgb_to_yuv_ref(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out);

}  // namespace tricodec::image
