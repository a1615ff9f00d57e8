// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tricodec/base/rational.h"
#include "tricodec/io/media_source.h"

namespace tricodec {

/// A frame of a Matroska track, with the numbers that libavformat gives its packet.
struct MatroskaBlock {
    std::int64_t pts = 0;       ///< in ticks of the segment
    std::int64_t duration = 0;  ///< 0 unknown
    std::int64_t pos = -1;      ///< of the block's number of its track
    std::int64_t size_bytes = 0;
    std::int64_t cluster = -1;  ///< position of the cluster that has it
    bool key = false;
    std::uint8_t first_byte = 0;  ///< of the frame
};

struct MatroskaBlocks {
    Rational tick{};  ///< in seconds
    std::vector<MatroskaBlock> blocks;
};

/// The frames of a video stream (0 is the first one), as the headers of clusters and blocks list them. Reads some bytes
/// a block, of all tracks, and no frames. Nothing if something leaves doubt: frames that are laced or compressed,
/// elements that are damaged or reach past the end, a track with times of another kind.
[[nodiscard]] std::optional<MatroskaBlocks> read_matroska_blocks(ByteReader& reader, std::size_t video_stream);
/// The same of some clusters alone; each range is that of a MatroskaGop.
[[nodiscard]] std::optional<MatroskaBlocks> read_matroska_blocks(ByteReader& reader, std::size_t video_stream,
                                                                 std::span<const ByteRange> clusters);

/// What begins at a key frame that Cues lists.
struct MatroskaGop {
    std::int64_t pts = 0;  ///< in ticks of the segment
    ByteRange clusters{};  ///< up to those of the next one, or to the end of the segment
};
struct MatroskaCues {
    Rational tick{};           ///< in seconds
    double frame_ticks = 0.0;  ///< how long the track says that a frame is shown, 0 unknown
    std::vector<MatroskaGop> gops;
};
/// The key frames of a video stream, in order; nothing if Cues is missing, or if something leaves doubt. Reads the head
/// and Cues.
[[nodiscard]] std::optional<MatroskaCues> read_matroska_cues(ByteReader& reader, std::size_t video_stream);

}  // namespace tricodec
