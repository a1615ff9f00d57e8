// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ffmpeg/ffmpeg.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Facts of the stream that a decoded picture does not have.
struct StreamFacts {
    Rational time_base{};
    Rational sample_aspect_ratio{};
    Orientation orientation{};
    ColorDescription color{};
};

/// Wraps a decoded picture, without a copy where PixelFormat has its format (pixel_repack.h). Throws Error(unsupported)
/// that names a pixel format which cannot be kept.
[[nodiscard]] Frame to_frame(ff::FramePtr picture, const StreamFacts& facts);

/// A frame in host memory as libavcodec takes it. Nothing is copied: the picture keeps the frame's memory.
/// Throws Error(unsupported) for a format that this FFmpeg does not have.
[[nodiscard]] ff::FramePtr to_av_picture(const Frame& frame);

}  // namespace tricodec
