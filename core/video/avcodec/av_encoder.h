// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "media/ffmpeg.h"
#include "tricodec/encoder.h"

namespace tricodec {

/// The encoder on the CPU that these options mean. Throws Error(unsupported, invalid_argument).
[[nodiscard]] const AVCodec& find_encoder(const EncoderOptions& options);

/// What pictures of `source` are best encoded as: themselves, or what loses least of what `codec` takes.
[[nodiscard]] PixelFormat nearest_format(const AVCodec& codec, PixelFormat source);

/// Encoding by one of libavcodec's encoders, on the CPU or, for those of NVENC, on options.device.
[[nodiscard]] std::unique_ptr<Encoder> make_av_encoder(const AVCodec& codec, const EncoderOptions& options);

}  // namespace tricodec
