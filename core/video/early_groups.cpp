// SPDX-License-Identifier: Apache-2.0
#include "video/early_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tricodec {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;  // of packets that wait for their group to end

bool same_frames(const StreamIndex& a, const StreamIndex& b, const Segment& segment) {
    return std::all_of(segment.wanted.begin(), segment.wanted.end(), [&](std::int64_t i) {
        return i < b.num_frames() && a.frame(i).packet == b.frame(i).packet && a.frame(i).pts == b.frame(i).pts;
    });
}

bool same_stretch(const Segment& a, const Segment& b) {
    return a.entry == b.entry && a.last == b.last && a.wanted == b.wanted;
}

}  // namespace

void EarlyGroups::add(const StreamIndexBuilder& so_far, Packet packet) {
    if (stopped_) return;
    bytes_ += packet.data.size();
    packets_.push_back(std::move(packet));
    if (bytes_ > kMostBytes) return stop();
    const auto last = so_far.num_packets() - 1;
    if (!so_far.last_is_entry() || last - looked_at_ < options_.least) return;
    looked_at_ = last;
    look(so_far);
}

void EarlyGroups::look(const StreamIndexBuilder& so_far) {
    const auto index = std::make_shared<const StreamIndex>(so_far.make());
    // Where headers change, what an entry is shows only later.
    if (!index->numbered() || index->parameters_change()) return stop();
    const auto num_frames =
        options_.num_frames < 0 ? index->num_frames() : std::min(options_.num_frames, index->num_frames());
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(num_frames));
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto groups = join_short_segments(plan_segments(*index, numbers), options_.least);
    if (!hold(*index, groups)) return stop();
    const std::size_t unknown = so_far.last_closes_group() ? 1 : 2;  // Note [Decoding before the index]
    while (launched_.size() + unknown < groups.size()) {
        const auto& segment = groups[launched_.size()];
        EarlyGroup group{index, segment, packets_of(segment)};
        launched_.push_back({index, segment});
        launch_(std::move(group));
        if (launched_.size() == options_.most) return stop();
        for (; first_packet_ < groups[launched_.size()].entry; ++first_packet_) {
            bytes_ -= packets_.front().data.size();
            packets_.pop_front();
        }
    }
}

bool EarlyGroups::hold(const StreamIndex& index, const std::vector<Segment>& groups) const {
    if (!index.numbered() || index.scanned() || groups.size() < launched_.size()) return false;
    for (std::size_t g = 0; g < launched_.size(); ++g) {
        const auto& [known, segment] = launched_[g];
        if (!same_stretch(segment, groups[g]) || !same_frames(*known, index, segment)) return false;
    }
    return true;
}

std::deque<Packet> EarlyGroups::packets_of(const Segment& segment) const {
    const auto end = first_packet_ + static_cast<std::int64_t>(packets_.size());
    if (segment.entry < first_packet_ || segment.last >= end) return {};
    const auto first = packets_.begin() + (segment.entry - first_packet_);
    return {first, first + segment.num_packets()};
}

void EarlyGroups::stop() {
    stopped_ = true;
    packets_.clear();
}

}  // namespace tricodec
