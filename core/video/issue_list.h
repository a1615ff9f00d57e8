// SPDX-License-Identifier: Apache-2.0
/// Reports of damage. Lists of them are bounded, because a hostile stream has any number; what is counted is not.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tricodec/decoder.h"

namespace tricodec {

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

/// What `decoder` has reported after the first `num_known`, as far as it still has it; `num_known` becomes their
/// number.
[[nodiscard]] std::vector<DecodeIssue> new_issues(const Decoder& decoder, std::int64_t& num_known);

/// True if `decoder` has reported damage after its first `num_heard` reports, which then are all. With
/// `begins_open`, where decoding began at an open group of pictures, references that are missing are none.
[[nodiscard]] bool tells_of_damage(const Decoder& decoder, bool begins_open, std::int64_t& num_heard);

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

}  // namespace tricodec
