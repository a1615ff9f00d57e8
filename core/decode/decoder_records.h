// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What decoders keep: the packets that they were sent, and reports of damage. Lists are bounded, because a hostile
/// stream has any number of both; what is counted is not.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/stage_scope.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/io/packet.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"

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
    std::optional<ChromaLocation> chroma_location{};  ///< of AV1
    std::optional<ColorRange> color_range{};          ///< of VP8
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

/// What a decoder reports: the latest kMostIssues of it, and how much there was.
class RecentIssues {
public:
    void add(DecodeIssue issue);
    [[nodiscard]] const std::deque<DecodeIssue>& kept() const noexcept { return kept_; }
    [[nodiscard]] std::int64_t num_met() const noexcept { return num_met_; }

private:
    std::deque<DecodeIssue> kept_;
    std::int64_t num_met_ = 0;
};

/// The damage that `decoder` has reported after its first `num_known` reports, as far as it still has them; `num_known`
/// becomes the number of all. With `begins_open`, where decoding began at an open group of pictures, references that
/// are missing are no damage.
[[nodiscard]] std::vector<DecodeIssue> new_damage(const Decoder& decoder, bool begins_open, std::int64_t& num_known);

/// What is damaged in a stream: one report a packet, whichever decoder met it how often. The reports of the first
/// kMostIssues packets are kept, the others are counted. Packets are told apart by DecodeIssue::tag, their number in
/// the stream; a report without one counts by itself.
class StreamIssues {
public:
    /// False if the packet is known.
    bool add(DecodeIssue issue);
    void clear();
    [[nodiscard]] std::int64_t num_packets() const noexcept { return num_packets_; }
    /// In packet order.
    [[nodiscard]] std::vector<DecodeIssue> sorted() const;

private:
    std::vector<DecodeIssue> kept_;
    std::vector<bool> damaged_;  // by packet
    std::int64_t num_packets_ = 0;
};

/// The stage of a decoder's call. Its frames are those that the call adds to `decoded`.
class DecodeScope {
public:
    /// `num_packets` are what the call works on; a packet may give no frame, and frames of earlier packets.
    DecodeScope(const std::deque<Frame>& decoded, std::int64_t num_packets) noexcept
        : decoded_(decoded), num_before_(decoded.size()), scope_(Stage::decode, num_packets) {}
    DecodeScope(const DecodeScope&) = delete;
    DecodeScope& operator=(const DecodeScope&) = delete;
    ~DecodeScope() { scope_.set_num_frames(static_cast<std::int64_t>(decoded_.size() - num_before_)); }

private:
    const std::deque<Frame>& decoded_;
    std::size_t num_before_;
    StageScope scope_;
};

}  // namespace tricodec
