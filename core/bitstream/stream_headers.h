// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bitstream/nal.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// Note [Opening without decoding]: avformat_find_stream_info() decodes the first pictures of an H.264 or VP9 stream
/// only to learn their pixel format, which on a 1080p file takes as long as everything else up to the first frame. The
/// same facts are in the headers. Facts that are in the stream's parameters before that call are taken as known, and
/// the call then reads the rest without decoding. If the headers leave anything open (no restriction of the reordering,
/// fields, several parameter sets, rare formats), nothing is written and the pictures are decoded. Both ways give the
/// same facts.

/// True if a packet of this stream is worth reading for tell_headers.
[[nodiscard]] bool needs_packet_headers(const AVStream& stream) noexcept;

/// True if the pictures of the stream are known from the codec's headers or the container.
[[nodiscard]] bool knows_pictures(const AVStream& stream) noexcept;

/// Writes what the codec's headers say into the stream's parameters; `packet` is the stream's first one, or empty.
void tell_headers(AVStream& stream, Bytes packet);

/// True for MPEG-4 with fields. Each thread of libavcodec keeps the vectors of fields that it has decoded itself, and B
/// pictures take those of the picture before.
[[nodiscard]] bool is_decoded_by_one_thread(const StreamInfo& stream);

}  // namespace tricodec
