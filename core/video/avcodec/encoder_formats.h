// SPDX-License-Identifier: Apache-2.0
/// Which pictures an encoder takes: formats and sizes.
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/encoder.h"

namespace tricodec {

/// What pictures of `source` are best encoded as: themselves, or what loses least of what `codec` takes.
[[nodiscard]] PixelFormat nearest_format(const AVCodec& codec, PixelFormat source);

/// Throws Error(invalid_argument) for pictures that `codec` cannot encode, and for rates and numbers that no encoder
/// takes.
void expect_encodable(const AVCodec& codec, const EncoderOptions& options);

}  // namespace tricodec
