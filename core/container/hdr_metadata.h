// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bitstream/nal.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// Sets the mastering display and the light level of a stream from what its container says.
void read_hdr_metadata(const AVStream& stream, StreamInfo& info);

/// The same from messages of H.264 and HEVC (SEI) and AV1 (metadata OBUs), where the container says nothing. `unit` is
/// a packet of the stream, or its extradata.
void read_hdr_metadata(Bytes unit, StreamInfo& info);

/// Sets them in a stream that is written. MP4, MOV, Matroska and WebM keep them.
void write_hdr_metadata(const StreamInfo& info, AVStream& stream);

}  // namespace tricodec
