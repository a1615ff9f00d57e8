// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tricodec/media_source.h"

namespace tricodec {

/// Note [Files cut short]: a file whose end is missing reads to where it is cut, and nothing that libavformat returns
/// then differs from a whole file's end but for some containers. What a container says of its own parts does: the last
/// one ends behind the file. Told by it are MP4 and MOV (boxes), Matroska and WebM (segment, or cluster where the
/// segment's size is left open), AVI (the list of pictures), ASF (the object of packets), FLV (tags), Ogg (pages), MXF
/// (keys), IVF (frames), MPEG-TS (packets of 188, 192 or 204 bytes), AV1's bare streams (units). Parts that state no
/// size, as a live writer's, promise nothing, and a cut between two parts of an open-ended file leaves no trace. Bare
/// streams of other codecs have no parts with a size.

/// What shows that the file of such a container was cut short, in words that follow "it ends early: "; empty if nothing
/// does. Moves `reader`, which must be able to seek. `format_name` is FFmpeg's of the demuxer.
[[nodiscard]] std::string cut_short(std::string_view format_name, ByteReader& reader);

}  // namespace tricodec
