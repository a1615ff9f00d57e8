// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/hwcontext.h>
}

#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "tricodec/device.h"
#include "tricodec/tensor.h"

namespace tricodec::streams {

using BufferRef = std::unique_ptr<AVBufferRef, ff::Deleter<av_buffer_unref>>;

/// N of "cuda:N", 0 of "cuda". Throws Error(invalid_argument) for another word.
[[nodiscard]] int gpu_number(const std::string& hw_accel);

/// Where chunks of `hw_accel` are: the CPU for "" and "cpu". Throws as gpu_number() does.
[[nodiscard]] Device device_of(const std::string& hw_accel);

/// libavutil's context of a GPU, "cuda" or "cuda:N": one per GPU and process, in the GPU's primary context. Throws
/// Error(invalid_argument) for another word, Error(device) with the reason where there is no such GPU.
[[nodiscard]] BufferRef hw_device(const std::string& hw_accel);

/// Forgets the contexts; what uses one keeps it.
void clear_hw_devices() noexcept;

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
