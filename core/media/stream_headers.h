// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "media/nal.h"

namespace tricodec {

/// Note [Opening without decoding]: avformat_find_stream_info() decodes the first pictures of an H.264 or VP9 stream
/// only to learn their pixel format, which on a 1080p file takes as long as everything else up to the first frame. The
/// same facts stand in the headers. What is written into the stream's parameters before that call is taken as known,
/// and it then reads what else it wants without decoding. Where the headers leave anything open (no restriction of the
/// reordering, fields, several parameter sets, rare formats), nothing is written and the pictures are decoded as
/// before: the facts found are the same either way.

/// True if a packet of this stream is worth reading for tell_headers.
[[nodiscard]] bool needs_packet_headers(const AVStream& stream) noexcept;

/// True if the codec's headers, or the container, have told what pictures the stream has.
[[nodiscard]] bool knows_pictures(const AVStream& stream) noexcept;

/// Writes what the codec's headers say into the stream's parameters; `packet` is the stream's first one, or empty.
void tell_headers(AVStream& stream, Bytes packet);

}  // namespace tricodec
