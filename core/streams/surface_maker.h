// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "media/ffmpeg.h"
#include "streams/hw_device.h"
#include "tricodec/tensor.h"

namespace tricodec::streams {

/// Pictures in a GPU's memory to surfaces of an encoder there: each is copied into a surface of its own, because an
/// encoder may still read the last ones.
class SurfaceMaker {
public:
    /// Throws Error(device) where there is no such GPU, Error(invalid_argument) for a format that encoders there lack.
    SurfaceMaker(const std::string& hw_accel, AVPixelFormat format, int width, int height);

    /// Borrowed.
    [[nodiscard]] AVBufferRef* frames() const noexcept { return frames_.get(); }
    /// A picture [channels, height, width] on the GPU, complete on return of the call that made it. Waits until it is
    /// copied, so that it may be changed afterwards.
    [[nodiscard]] AVFrame* make(const TensorView& picture);

private:
    int gpu_;
    AVPixelFormat format_;
    int width_;
    int height_;
    BufferRef frames_;
    ff::FramePtr surface_;
};

}  // namespace tricodec::streams
