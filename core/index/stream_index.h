// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitstream/av1_units.h"
#include "bitstream/packet_inspector.h"
#include "tricodec/base/error.h"
#include "tricodec/base/rational.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/index/frame_index.h"

namespace tricodec {

struct IndexedPacket {
    std::int64_t pts = kNoTimestamp;
    std::int64_t dts = kNoTimestamp;
    std::int64_t pos = -1;
    std::int64_t duration = 0;
    std::int64_t size_bytes = 0;
    std::int64_t frame = -1;  ///< number of the frame it gives, -1 none
    bool entry = false;       ///< decoding may start here
    bool shows_frame = true;
    bool open_entry = false;     ///< an entry from which the codec may miss references that no frame after it needs
    bool non_reference = false;  ///< nothing refers to its picture: it may be left out where that is not wanted
    /// If not 0: nothing refers to its picture, but to others in the first so many bytes, which must be decoded.
    std::int64_t referenced_bytes = 0;
    std::optional<SlotUse> slots{};  ///< of AV1, where its headers tell
    /// False while only the container's table is known; then the five facts above are missing. Note [Listed packets]
    bool inspected = true;
    bool predicted = false;  ///< Note [Predicted packets]
};

struct IndexedFrame {
    std::int64_t packet = -1;
    std::int64_t pts = kNoTimestamp;
    std::int64_t duration = 0;
    /// Frames from the last one with a time stamp to this one, or from the first frame.
    std::int64_t num_untimed = 0;
};

/// Which packet gives which frame, and where decoding can start. First predicted from packet headers; replaced by what
/// decoding really gave when the headers leave doubt or a prediction fails.
///
/// Note [Numbering frames without decoding]: frame i is the i-th frame that decoding from the start gives. When every
/// packet is whole, has a time stamp of its own, is no field and no hidden frame, and nothing precedes the first key
/// frame's time, then that order is the order of the time stamps. Otherwise the stream is decoded once (scan). It is
/// also decoded where time stamps contradict the codec: AV1 and VP9 give frames in the order of their packets, B
/// pictures of MPEG come before the picture that they follow, and no codec shows a frame from before a key frame after
/// it.
class StreamIndex {
public:
    [[nodiscard]] const std::vector<IndexedPacket>& packets() const noexcept { return packets_; }
    [[nodiscard]] const std::vector<IndexedFrame>& frames() const noexcept { return frames_; }
    [[nodiscard]] std::int64_t num_packets() const noexcept { return static_cast<std::int64_t>(packets_.size()); }
    [[nodiscard]] std::int64_t num_frames() const noexcept { return static_cast<std::int64_t>(frames_.size()); }
    [[nodiscard]] const IndexedPacket& packet(std::int64_t k) const { return packets_[static_cast<std::size_t>(k)]; }
    /// Throws Error(out_of_range), as entry_for() and last_packet_for() do.
    [[nodiscard]] const IndexedFrame& frame(std::int64_t i) const;

    /// False while only a scan can number the frames.
    [[nodiscard]] bool numbered() const noexcept { return numbered_; }
    /// True if the numbering comes from decoding.
    [[nodiscard]] bool scanned() const noexcept { return scanned_; }
    /// True if frames can only be told apart by counting from the start: no seeking.
    [[nodiscard]] bool counted() const noexcept { return counted_; }
    /// True if headers change in mid-stream, so that a used decoder may hold the wrong ones.
    [[nodiscard]] bool parameters_change() const noexcept { return parameters_change_; }
    /// Demuxer::ends_early() of the packets' source.
    [[nodiscard]] const std::string& ends_early() const noexcept { return ends_early_; }
    void set_ends_early(std::string why) { ends_early_ = std::move(why); }
    /// True if the packets are those of the container's table. Note [Listed packets]
    [[nodiscard]] bool listed() const noexcept { return listed_; }
    /// Replaces what is known of a packet by what its headers say.
    void set_packet(std::int64_t k, const IndexedPacket& packet) { packets_[static_cast<std::size_t>(k)] = packet; }
    /// The first packet after `k` at which decoding may start, or num_packets().
    [[nodiscard]] std::int64_t next_entry(std::int64_t k) const;
    /// True if both number the frames in the same way: one is the other, with more of its packets inspected.
    [[nodiscard]] bool numbers_as(const StreamIndex& other) const noexcept { return numbering_ == other.numbering_; }

    /// Replaces the numbering by the frames of a whole decode, in output order. `counted`: see counted(), which is also
    /// true if two frames come from one packet.
    void set_scanned(std::vector<IndexedFrame> frames, bool counted);

    /// What a saved index must hold for the rest to be found again.
    struct Contents {
        std::vector<IndexedPacket> packets;
        std::vector<IndexedFrame> frames;  ///< where `scanned`
        bool uncertain = false;
        bool scanned = false;
        bool counted = false;
        bool parameters_change = false;
        std::string ends_early{};
    };
    [[nodiscard]] Contents contents() const;
    [[nodiscard]] static StreamIndex from_contents(Contents contents);

    /// The last packet from which decoding gives frame `i`.
    [[nodiscard]] std::int64_t entry_for(std::int64_t i) const;
    /// True if frames that are shown before an entry are coded after it (an open group of pictures), or older
    /// references are kept: decoding from there the codec complains of missing references.
    [[nodiscard]] bool is_open(std::int64_t entry_packet) const;
    /// The last packet that must be fed for frame `i` to be complete.
    [[nodiscard]] std::int64_t last_packet_for(std::int64_t i) const;
    [[nodiscard]] std::vector<std::int64_t> entry_frames() const;
    /// The GOPs in the order of their packets; one if decoding can only start at the first packet.
    [[nodiscard]] std::vector<Gop> gops() const;
    /// True if `packet` may be number `k`.
    [[nodiscard]] bool is_packet(std::int64_t k, const Packet& packet) const;
    /// The packet with these facts, or -1 if none or several match.
    [[nodiscard]] std::int64_t find_packet(const Packet& packet) const;

private:
    friend class StreamIndexBuilder;
    void sort_positions();
    void predict();
    void link();
    struct Entry {
        std::int64_t packet;
        std::int64_t rank;  // first frame that this entry serves
    };
    std::vector<IndexedPacket> packets_;
    std::vector<IndexedFrame> frames_;
    std::vector<Entry> entries_;
    std::vector<std::int64_t> frame_starts_;  // packets that give a frame, ascending
    std::vector<std::pair<std::int64_t, std::int64_t>> by_pos_;
    bool uncertain_ = false;
    bool numbered_ = false;
    bool scanned_ = false;
    bool counted_ = false;
    bool parameters_change_ = false;
    bool listed_ = false;
    std::shared_ptr<const char> numbering_ = std::make_shared<const char>();  // what copies have in common
    std::string ends_early_;
};

/// Makes a StreamIndex of packets that arrive one by one, from the first of the stream on.
class StreamIndexBuilder {
public:
    explicit StreamIndexBuilder(const StreamInfo& stream);

    void add(const Packet& packet);
    [[nodiscard]] std::int64_t num_packets() const noexcept { return index_.num_packets(); }
    /// The index of what came so far.
    [[nodiscard]] StreamIndex make() const;

private:
    PacketInspector inspector_;
    const bool reorders_;                     // the codec may show pictures in another order than that of their packets
    bool may_lack_times_;                     // and no packet yet has another presentation than decoding time
    StreamIndex index_;                       // its packets, and what is known of the whole
    std::int64_t latest_pts_ = kNoTimestamp;  // of the frames so far
    std::vector<bool> has_parameter_sets_;
    std::vector<int> layers_;
    bool is_packed_ = false;  // PacketFacts::is_packed of any
};

}  // namespace tricodec
