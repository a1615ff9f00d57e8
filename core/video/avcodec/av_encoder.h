// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "media/ffmpeg.h"
#include "tricodec/encoder.h"

namespace tricodec {

/// Encoding on the CPU by one of libavcodec's encoders.
[[nodiscard]] std::unique_ptr<Encoder> make_av_encoder(const AVCodec& codec, const EncoderOptions& options);

}  // namespace tricodec
