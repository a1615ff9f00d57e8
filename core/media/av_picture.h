// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/frame.h"

namespace tricodec {

/// A frame in host memory as libavcodec takes it. Nothing is copied: the picture keeps the frame's memory.
/// Throws Error(unsupported) for a format that this FFmpeg does not have.
[[nodiscard]] ff::FramePtr to_av_picture(const Frame& frame);

}  // namespace tricodec
