// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tricodec/tensor/pixel_format.h"

namespace tricodec {

/// How a sample holds raw pictures: their planes one after another without padding.
struct RawFrames {
    bool sequence = false;  ///< the first axis counts frames
    std::int64_t num_frames = 1;
    int width = 0;
    int height = 0;
};

/// Dimensions of a sample of one picture; a sequence has one more.
[[nodiscard]] int picture_ndim(PixelFormat format);

/// The shape that a picture of a sequence is given: packed_shape(), but [1, samples] where that has one axis, so that
/// all pictures of a format have as many dimensions.
[[nodiscard]] std::vector<std::int64_t> picture_shape(PixelFormat format, int width, int height);

/// DALI's letters for a sequence of raw pictures. Those that are rows of several planes are called "FHW", too.
[[nodiscard]] std::string raw_layout_name(PixelFormat format);

/// What a sample of this shape holds. `width` and `height` are 0 where they are to be taken from the shape.
/// Throws Error(invalid_argument) saying what shapes are accepted.
[[nodiscard]] RawFrames read_raw_shape(PixelFormat format, std::span<const std::int64_t> shape, std::int64_t width,
                                       std::int64_t height);

}  // namespace tricodec
