// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/stream_info.h"

namespace tricodec {
[[nodiscard]] Codec to_codec(AVCodecID id) noexcept;
/// AV_CODEC_ID_NONE for `unknown` and `other`.
[[nodiscard]] AVCodecID to_av(Codec codec) noexcept;
}  // namespace tricodec
