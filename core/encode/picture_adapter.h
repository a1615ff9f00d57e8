// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tricodec/image/transform.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Decoded frames to what one encoder takes: crop, size and format. Thread safety: one thread at a time.
class PictureAdapter {
public:
    /// `format` is what comes out, `size` its size.
    PictureAdapter(std::optional<Crop> crop, Size size, PixelFormat format);

    /// Without a copy where nothing changes but a column or a row at the right and bottom edge. Frames of other sizes
    /// than the first are resized too: a stream may change its size. Throws Error(unsupported).
    [[nodiscard]] Frame operator()(const Frame& frame) const;

private:
    [[nodiscard]] Frame resampled(const Frame& frame) const;
    [[nodiscard]] Frame resampled_deep(const Frame& frame) const;

    std::optional<Crop> crop_;
    Size size_;
    PixelFormat format_;
    Transform transform_;
    Transform deep_;  // to floats, which hold more than 8 bits
};

}  // namespace tricodec
