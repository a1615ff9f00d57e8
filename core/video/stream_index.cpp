// SPDX-License-Identifier: Apache-2.0
#include "video/stream_index.h"

#include <algorithm>

namespace tricodec {

StreamIndex::Contents StreamIndex::contents() const {
    return {packets_,   scanned_ ? frames_ : std::vector<IndexedFrame>{},
            uncertain_, scanned_,
            counted_,   parameters_change_,
            ends_early_};
}

StreamIndex StreamIndex::from_contents(Contents contents) {
    StreamIndex index;
    index.packets_ = std::move(contents.packets);
    index.uncertain_ = contents.uncertain;
    index.parameters_change_ = contents.parameters_change;
    index.ends_early_ = std::move(contents.ends_early);
    index.sort_positions();
    index.predict();
    if (contents.scanned) index.set_scanned(std::move(contents.frames), contents.counted);
    return index;
}

void StreamIndex::sort_positions() {
    for (std::int64_t k = 0; k < num_packets(); ++k) by_pos_.emplace_back(packet(k).pos, k);
    std::sort(by_pos_.begin(), by_pos_.end());
}

void StreamIndex::predict() {
    frames_.clear();
    for (std::int64_t k = 0; k < num_packets(); ++k) {
        if (packet(k).shows_frame) frames_.push_back({k, packet(k).pts, packet(k).duration});
    }
    const bool timed =
        std::none_of(packets_.begin(), packets_.end(), [](const auto& p) { return p.pts == kNoTimestamp; });
    std::sort(frames_.begin(), frames_.end(), [](const auto& a, const auto& b) { return a.pts < b.pts; });
    const bool distinct = std::adjacent_find(frames_.begin(), frames_.end(), [](const auto& a, const auto& b) {
                              return a.pts == b.pts;
                          }) == frames_.end();
    const bool starts_clean = packets_.empty() || (packets_[0].entry && !frames_.empty() &&
                                                   (!packets_[0].shows_frame || frames_[0].packet == 0));
    numbered_ = !uncertain_ && timed && distinct && starts_clean;
    if (numbered_) link();
}

void StreamIndex::set_scanned(std::vector<IndexedFrame> frames, bool damaged) {
    frames_ = std::move(frames);
    numbered_ = scanned_ = true;
    std::vector<std::int64_t> tags;
    for (const auto& frame : frames_) tags.push_back(frame.packet);
    std::sort(tags.begin(), tags.end());
    const bool distinct = std::adjacent_find(tags.begin(), tags.end()) == tags.end();
    const bool known = tags.empty() || (tags.front() >= 0 && tags.back() < num_packets());
    counted_ = damaged || !distinct || !known;
    link();
}

void StreamIndex::link() {
    for (auto& packet : packets_) packet.frame = -1;
    frame_starts_.clear();
    entries_.clear();
    for (std::int64_t i = 0; i < num_frames(); ++i) {
        const auto k = frame(i).packet;
        if (k < 0 || k >= num_packets()) continue;
        packets_[static_cast<std::size_t>(k)].frame = i;
        frame_starts_.push_back(k);
    }
    std::sort(frame_starts_.begin(), frame_starts_.end());
    entries_.push_back({0, 0});
    if (counted_) return;
    for (std::int64_t k = 1; k < num_packets(); ++k) {
        if (!packet(k).entry) continue;
        if (packet(k).frame >= 0) {
            entries_.push_back({k, packet(k).frame});
        } else if (!scanned_ && packet(k).pts != kNoTimestamp) {
            // A key frame that is not shown (an edit list cuts it off) serves the frames after its time.
            const auto after = std::lower_bound(frames_.begin(), frames_.end(), packet(k).pts,
                                                [](const auto& frame, std::int64_t pts) { return frame.pts < pts; });
            entries_.push_back({k, after - frames_.begin()});
        }
    }
    for (std::int64_t i = 0; i + 1 < num_frames(); ++i) {
        auto& here = frames_[static_cast<std::size_t>(i)];
        const auto next = frames_[static_cast<std::size_t>(i + 1)].pts;
        if (here.pts == kNoTimestamp || next == kNoTimestamp || next <= here.pts) continue;
        // Times may be anything in a file made to deceive: no overflow.
        here.duration =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(next) - static_cast<std::uint64_t>(here.pts));
    }
}

std::int64_t StreamIndex::entry_for(std::int64_t i) const {
    const auto k = frame(i).packet;
    auto it = std::upper_bound(entries_.begin(), entries_.end(), k,
                               [](std::int64_t packet, const Entry& entry) { return packet < entry.packet; });
    // Frames shown before a key frame but coded after it ("leading") need the group before.
    while (it != entries_.begin()) {
        --it;
        if (it->rank <= i) return it->packet;
    }
    return 0;
}

bool StreamIndex::is_open(std::int64_t entry_packet) const {
    if (entry_packet == 0) return false;
    const auto rank = packet(entry_packet).frame;
    if (packet(entry_packet).open_entry) return true;
    if (rank < 0) return true;  // not shown itself: nothing is known of what surrounds it
    for (auto k = entry_packet + 1; k < num_packets() && !packet(k).entry; ++k) {
        if (packet(k).frame >= 0 && packet(k).frame < rank) return true;
    }
    return false;
}

std::int64_t StreamIndex::last_packet_for(std::int64_t i) const {
    if (counted_) return num_packets() - 1;
    // Up to the packet before the next frame's: a second field, or hidden frames, in between belong to this one.
    const auto next = std::upper_bound(frame_starts_.begin(), frame_starts_.end(), frame(i).packet);
    return next == frame_starts_.end() ? num_packets() - 1 : *next - 1;
}

std::vector<std::int64_t> StreamIndex::entry_frames() const {
    std::vector<std::int64_t> numbers;
    for (const auto& entry : entries_) {
        if (entry.packet < num_packets() && packet(entry.packet).frame >= 0 && packet(entry.packet).entry) {
            numbers.push_back(packet(entry.packet).frame);
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::int64_t StreamIndex::find_packet(const Packet& wanted) const {
    if (wanted.pos < 0) return -1;
    const auto size_bytes = static_cast<std::int64_t>(wanted.data.size());
    std::int64_t found = -1;
    for (auto it = std::lower_bound(by_pos_.begin(), by_pos_.end(), std::pair{wanted.pos, std::int64_t{-1}});
         it != by_pos_.end() && it->first == wanted.pos; ++it) {
        const auto& candidate = packet(it->second);
        const bool same_time =
            candidate.pts == wanted.pts || candidate.pts == kNoTimestamp || wanted.pts == kNoTimestamp;
        if (candidate.size_bytes != size_bytes || !same_time) continue;
        if (found >= 0) return -1;
        found = it->second;
    }
    return found;
}

}  // namespace tricodec
