// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "media/packet_inspector.h"
#include "video/stream_index.h"

namespace tricodec {

/// Makes a StreamIndex of packets that come one by one, from the first of the stream on.
class StreamIndexBuilder {
public:
    explicit StreamIndexBuilder(const StreamInfo& stream) : inspector_(stream) {}

    void add(const Packet& packet);
    [[nodiscard]] std::int64_t num_packets() const noexcept { return index_.num_packets(); }
    /// True if decoding may start at the packet that came last, as far as is known by then.
    [[nodiscard]] bool last_is_entry() const noexcept { return num_packets() > 0 && index_.packets().back().entry; }
    /// True if it is an entry that nothing coded after it is shown before, as far as its headers tell.
    [[nodiscard]] bool last_closes_group() const noexcept { return last_closes_group_ && last_is_entry(); }
    /// The index of what came so far.
    [[nodiscard]] StreamIndex make() const;

private:
    PacketInspector inspector_;
    StreamIndex index_;  // its packets, and what is known of the whole
    std::vector<bool> has_parameter_sets_;
    std::vector<int> layers_;
    bool last_closes_group_ = false;
};

}  // namespace tricodec
