// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tricodec/base/rational.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// One access unit of a stream. Copies share the bytes, which stay valid as long as one of them lives.
struct Packet {
    std::span<const std::byte> data;
    std::int64_t pts = kNoTimestamp;  ///< in time_base units
    std::int64_t dts = kNoTimestamp;  ///< in time_base units
    std::int64_t duration = 0;        ///< in time_base units, 0 unknown
    std::int64_t pos = -1;            ///< byte position in the file, -1 unknown
    Rational time_base{};
    int stream_index = 0;
    bool key = false;      ///< as the container flags it; Frame::key says what the codec's headers say
    bool discard = false;  ///< decoded for its references only, not shown (edit lists)
    bool corrupt = false;
    std::shared_ptr<const void> owner;

    /// A packet over a copy of `bytes`, padded as decoders need it.
    [[nodiscard]] static Packet copy(std::span<const std::byte> bytes);
};

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
