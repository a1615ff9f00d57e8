// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tricodec/base/rational.h"

namespace tricodec {

/// A packet that could not be decoded, or was decoded with damage; of a reader also the packets that are missing at the
/// end of a source that was cut short.
struct DecodeIssue {
    std::int64_t packet_number = -1;  ///< counted from 0 since the decoder was made or reset
    std::int64_t pts = kNoTimestamp;
    std::int64_t pos = -1;
    std::string message;      ///< the codec's own text, or the sign that the source was cut short
    std::int64_t tag = -1;    ///< what Decoder::send() was given with the packet
    bool ends_early = false;  ///< the source was cut short: no packet, but all that are missing
    bool refused = false;     ///< by the GPU: another decoder may take the picture, which need not be damaged
};

/// Reports that a list of them holds at most; they are counted on.
inline constexpr std::size_t kMostIssues = 10000;

}  // namespace tricodec
