// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "tricodec/io/media_source.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// A packet of a stream that has no container.
struct PacketBytes {
    std::span<const std::byte> data{};
    double pts_seconds = std::numeric_limits<double>::quiet_NaN();  ///< NaN where it is not known
};

/// The packets of one video stream, in decoding order, as a source for everything that reads media. H.264 and HEVC come
/// as Annex B, with parameter sets in front of the first key frame, as DemuxerOptions::annexb gives them. Times are
/// kept to the nanosecond. The bytes are copied. Throws Error(unsupported) for a codec that has no such packets,
/// Error(invalid_argument) for times past 292 years, Error(refused) for more than Limits::max_packets.
[[nodiscard]] MediaSource source_of_packets(CodecId codec, std::span<const PacketBytes> packets, std::string name);

}  // namespace tricodec
