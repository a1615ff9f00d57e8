// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tricodec/io/media_source.h"

namespace tricodec {

/// A sample that a movie fragment lists, in the track's time scale, edit lists not applied.
struct Mp4FragmentSample {
    std::int64_t dts = 0;
    std::int64_t composition_offset = 0;
    std::int64_t duration = 0;
    std::int64_t pos = -1;
    std::int64_t size_bytes = 0;
    bool key = false;
};

/// The samples of a track that the movie fragments of a file list (ISO/IEC 14496-12, 8.8), in the order of the file.
/// Reads the headers of all boxes, and no media. Nothing if the file has other samples too, or if a fragment leaves
/// doubt: it states no decoding time or no place, has another sample description, or reaches past the end.
[[nodiscard]] std::optional<std::vector<Mp4FragmentSample>> read_mp4_fragments(ByteReader& reader,
                                                                               std::uint32_t track_id);

/// Announces to a reader that fetches ahead what libavformat reads bit by bit when it opens a file: `moov`, in front or
/// at the end, and the headers of fragments, as the file's own lists of them (`sidx` in front, `mfra` at the end) place
/// them.
void announce_mp4_tables(ByteReader& reader);

}  // namespace tricodec
