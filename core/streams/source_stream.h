// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/stream_reader.h"

namespace tricodec::streams {
[[nodiscard]] SourceStream describe_source(const AVStream& stream);
}  // namespace tricodec::streams
