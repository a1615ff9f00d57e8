// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "container/input_context.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {

/// The packets of a stream as its container lists them: see Demuxer::listed_packets().
///
/// | container | what lists them | without |
/// |---|---|---|
/// | MP4, QuickTime | the sample table | packets of an edit list that are left out or repeated |
/// | the same in fragments | the headers of all fragments | fragments without a time or a place |
/// | Matroska, WebM | the headers of all blocks; Note [Walking blocks] | lacing |
/// | the same, of a source that fetches ahead | if it `predicts`, Cues; Note [Predicted packets] | no frame duration |
/// | AVI | its index; OpenDML's too | codecs other than MJPEG: AVI states no presentation times |
[[nodiscard]] std::vector<ListedPacket> list_packets(InputContext& input, AVStream& stream, bool predicts);

/// The packets in these clusters of a Matroska file, which are fetched together. Empty if something leaves doubt.
[[nodiscard]] std::vector<ListedPacket> list_clusters(InputContext& input, AVStream& stream,
                                                      std::span<const ByteRange> ranges);

}  // namespace tricodec
