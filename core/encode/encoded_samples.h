// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tricodec/image/transform.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// A frame of the same size with the samples of `format`: other chroma, fewer bits, other colors (RGB becomes YUV of
/// `color`). What an Encoder converts itself, layouts and 8-bit RGB, is returned as it is, also on a GPU. Throws
/// Error(unsupported).
[[nodiscard]] Frame to_encoded_samples(const Frame& frame, PixelFormat format, const ColorDescription& color);

/// The same after crop, size and rotation of `geometry`; its other fields have no effect.
[[nodiscard]] Frame resampled(const Frame& frame, const TransformOptions& geometry, PixelFormat format,
                              const ColorDescription& color);

}  // namespace tricodec
