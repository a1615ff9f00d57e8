// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/hwcontext.h>
}

#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "tricodec/device.h"

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

}  // namespace tricodec::streams
