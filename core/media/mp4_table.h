// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tricodec/media/media_source.h"

namespace tricodec {

/// What the `moov` box of an MP4 or QuickTime file states of the samples of a track, beyond libavformat's own index
/// (ISO/IEC 14496-12, 8.6).
struct Mp4SampleTable {
    std::int64_t num_samples = 0;
    std::vector<std::int32_t> composition_offsets;  ///< one a sample, in the track's time scale; empty if all are 0
    std::int64_t last_duration = 0;                 ///< of the last sample
};

/// Nothing if the track is not there, if its table is damaged, if it has several sample descriptions, or if the file
/// has fragments, which the table does not list.
[[nodiscard]] std::optional<Mp4SampleTable> read_mp4_sample_table(ByteReader& reader, std::uint32_t track_id);

}  // namespace tricodec
