// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tricodec/media/stream_info.h"

namespace tricodec {

/// A message of supplemental enhancement information (H.264 and HEVC, annex D).
struct SeiMessage {
    int type = 0;                       ///< payloadType
    std::vector<std::uint8_t> payload;  ///< without emulation prevention bytes
};

/// The messages of an access unit of `stream` in its order. Messages that are cut off, and what cannot be read as NAL
/// units, are left out; other codecs than H.264 and HEVC have none.
[[nodiscard]] std::vector<SeiMessage> sei_messages(const StreamInfo& stream, std::span<const std::byte> access_unit);
/// The same for units with start codes (Annex B).
[[nodiscard]] std::vector<SeiMessage> sei_messages(CodecId codec, std::span<const std::byte> access_unit);

}  // namespace tricodec
