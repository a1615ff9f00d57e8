// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tricodec/packet.h"

namespace tricodec {

/// What a packet said, for the frame that it gives.
struct SentPacket {
    std::int64_t number = -1;  ///< counted from 0 since the decoder was made or reset
    std::int64_t pts = kNoTimestamp;
    std::int64_t dts = kNoTimestamp;
    std::int64_t duration = 0;
    std::int64_t tag = -1;
    bool key = false;  ///< Frame::key
    bool is_flagged_key = false;
    bool discard = false;
    bool corrupt = false;
};

/// The packets that a decoder was sent last.
class SentPackets {
public:
    void add(const SentPacket& packet) { packets_[place(packet.number)] = packet; }
    /// A default SentPacket if the number is negative or too long ago.
    [[nodiscard]] SentPacket find(std::int64_t number) const {
        if (number < 0) return {};
        const auto& packet = packets_[place(number)];
        return packet.number == number ? packet : SentPacket{};
    }
    void clear() { packets_.fill({}); }

private:
    // How far a picture may come out after later packets: 16 frames of reordering, as fields, and what is in flight.
    static constexpr std::size_t kRemembered = 256;
    [[nodiscard]] static std::size_t place(std::int64_t number) {
        return static_cast<std::size_t>(number) % kRemembered;
    }
    std::array<SentPacket, kRemembered> packets_{};
};

}  // namespace tricodec
