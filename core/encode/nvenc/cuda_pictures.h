// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/device.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// The pictures of one encoder of NVENC's, as libavcodec expects them: in device memory, without a copy.
class CudaPictures {
public:
    /// Ties the encoder to the GPU's primary context. Throws Error(device, unsupported).
    CudaPictures(AVCodecContext& context, Device device, PixelFormat format, int width, int height);

    /// Of a frame of the format that was given. A frame that is not there, or with planes that do not follow one
    /// another, is copied once; the host waits until the pixels are written.
    [[nodiscard]] ff::FramePtr picture(const Frame& frame) const;

private:
    Device device_;
    std::unique_ptr<AVBufferRef, ff::Deleter<av_buffer_unref>> frames_;
};

}  // namespace tricodec
