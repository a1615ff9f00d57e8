// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tricodec/io/media_source.h"

namespace tricodec {

/// Note [Files cut short]: libavformat reads a file that was cut off up to the cut, and for most containers it reports
/// the same end as for a whole file. The sizes of the container's own parts show the cut: the last part ends after the
/// end of the file. This works for MP4 and MOV (boxes), and Matroska and WebM (segment, or cluster if the segment has
/// no size). It does not work for parts without a size, as in live recordings, for a cut between two parts of a file
/// without a total size, and for other formats.

/// The evidence that a file was cut short, as text to follow "it ends early: "; empty if there is none. Moves `reader`,
/// which must be able to seek. `format_name` is FFmpeg's name of the demuxer.
[[nodiscard]] std::string cut_short(std::string_view format_name, ByteReader& reader);

}  // namespace tricodec
