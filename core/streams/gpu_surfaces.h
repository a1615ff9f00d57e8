// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/hwcontext.h>
}

#include <memory>
#include <string>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/device.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::streams {

using BufferRef = std::unique_ptr<AVBufferRef, ff::Deleter<av_buffer_unref>>;

/// N for "cuda:N", 0 for "cuda". Throws Error(invalid_argument) for anything else.
[[nodiscard]] int gpu_number(const std::string& hw_accel);

/// The device of chunks with `hw_accel`: the CPU for "" and "cpu". Throws as gpu_number() does.
[[nodiscard]] Device device_of(const std::string& hw_accel);

/// libavutil's context of a GPU, "cuda" or "cuda:N": one per GPU and process, in the GPU's primary context. Throws
/// Error(invalid_argument) for another device, Error(device) with the reason if there is no such GPU.
[[nodiscard]] BufferRef hw_device(const std::string& hw_accel);

/// Forgets the contexts. Streams that use one keep it.
void clear_hw_devices() noexcept;

/// Turns pictures in a GPU's memory into surfaces for an encoder on that GPU. Each picture is copied into a surface of
/// its own, because the encoder may still read the last ones.
class SurfaceMaker {
public:
    /// Throws Error(device) if there is no such GPU, Error(invalid_argument) for a format that its encoders lack.
    SurfaceMaker(const std::string& hw_accel, AVPixelFormat format, int width, int height);

    /// Borrowed.
    [[nodiscard]] AVBufferRef* frames() const noexcept { return frames_.get(); }
    /// `picture` is [channels, height, width] on the GPU, and its pixels are complete. Returns after the copy, so that
    /// the caller may change them.
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
