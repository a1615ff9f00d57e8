// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "encode/packet_copier.h"
#include "tricodec/encode/transcode.h"

namespace tricodec {

/// transcode() with the codec "copy": the packets of the video and of the sound, from the last key frame at or before
/// the start of the range. The log tells where that is.
[[nodiscard]] TranscodeResult copy_streams(const MediaSource& source, const MediaTarget& target,
                                           const TranscodeOptions& options);

/// Adds what the source says of itself: metadata that `muxing` does not have, and the chapters in the range.
/// `length_seconds`: of the output.
void describe_as_source(MuxerOptions& muxing, const MediaInfo& source, const CopyRange& range, double length_seconds);

/// The streams that an output with this video, and with the sound if `audio`, does not have: "subtitle stream 2
/// (mov_text)"; empty if it has all.
[[nodiscard]] std::string streams_left_out(const MediaInfo& source, int video_stream, bool audio);

}  // namespace tricodec
