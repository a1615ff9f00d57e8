// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/stream_info.h"

namespace tricodec {
[[nodiscard]] StreamInfo describe_stream(AVFormatContext& format, const AVStream& stream);
[[nodiscard]] MediaInfo describe_media(AVFormatContext& format, const std::string& name, std::int64_t size_bytes);
}  // namespace tricodec
