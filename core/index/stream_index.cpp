// SPDX-License-Identifier: Apache-2.0
#include "index/stream_index.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ffmpeg/ffmpeg.h"
#include "selection/rules.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {

const IndexedFrame& StreamIndex::frame(std::int64_t i) const {
    TRICODEC_EXPECT(i >= 0 && i < num_frames(), out_of_range,
                    "frame " + std::to_string(i) + " was asked for; " + range_text(num_frames()));
    return frames_[static_cast<std::size_t>(i)];
}

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
    index.listed_ = std::ranges::any_of(index.packets_, [](const auto& packet) { return !packet.inspected; });
    index.sort_positions();
    index.predict();
    if (contents.scanned) index.set_scanned(std::move(contents.frames), contents.counted);
    return index;
}

void StreamIndex::sort_positions() {
    by_pos_.reserve(packets_.size());
    for (std::int64_t k = 0; k < num_packets(); ++k) by_pos_.emplace_back(packet(k).pos, k);
    std::sort(by_pos_.begin(), by_pos_.end());
}

void StreamIndex::predict() {
    frames_.clear();
    frames_.reserve(packets_.size());
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

void StreamIndex::set_scanned(std::vector<IndexedFrame> frames, bool counted) {
    frames_ = std::move(frames);
    numbered_ = scanned_ = true;
    numbering_ = std::make_shared<const char>();
    std::vector<std::int64_t> tags;
    for (const auto& frame : frames_) tags.push_back(frame.packet);
    std::sort(tags.begin(), tags.end());
    const bool distinct = std::adjacent_find(tags.begin(), tags.end()) == tags.end();
    const bool known = tags.empty() || (tags.front() >= 0 && tags.back() < num_packets());
    counted_ = counted || !distinct || !known;
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
    for (std::size_t i = 1; i < frames_.size(); ++i) {
        frames_[i].num_untimed = frames_[i].pts == kNoTimestamp ? frames_[i - 1].num_untimed + 1 : 0;
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

std::int64_t StreamIndex::next_entry(std::int64_t k) const {
    for (++k; k < num_packets() && !packet(k).entry;) ++k;
    return std::min(k, num_packets());
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
    // Decoding begins at a key frame that is not shown: an edit list cuts it off.
    if (numbers.empty() && num_frames() > 0) numbers.push_back(0);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::vector<Gop> StreamIndex::gops() const {
    std::vector<Gop> gops;
    if (packets_.empty()) return gops;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const bool is_last = i + 1 == entries_.size();
        const auto next = is_last ? Entry{num_packets(), num_frames()} : entries_[i + 1];
        Gop gop{.first_frame = entries_[i].rank, .open = is_open(entries_[i].packet)};
        gop.num_frames = std::max<std::int64_t>(next.rank - gop.first_frame, 0);
        std::int64_t end = -1;
        for (auto k = entries_[i].packet; k < next.packet; ++k) {
            const auto& part = packet(k);
            if (part.pos < 0 || part.pos > std::numeric_limits<std::int64_t>::max() - part.size_bytes) continue;
            gop.offset = gop.offset < 0 ? part.pos : std::min(gop.offset, part.pos);
            end = std::max(end, part.pos + part.size_bytes);
        }
        if (gop.offset >= 0) gop.size_bytes = end - gop.offset;
        gops.push_back(gop);
    }
    return gops;
}

bool StreamIndex::is_packet(std::int64_t k, const Packet& packet) const {
    if (k < 0 || k >= num_packets()) return false;
    const auto& known = packets_[static_cast<std::size_t>(k)];
    return known.size_bytes == static_cast<std::int64_t>(packet.data.size()) &&
           (known.pos == packet.pos || known.pos < 0 || packet.pos < 0);
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

StreamIndexBuilder::StreamIndexBuilder(const StreamInfo& stream)
    : inspector_(stream),
      reorders_(stream.codec != CodecId::av1 && stream.codec != CodecId::vp9 && stream.codec != CodecId::vp8 &&
                stream.codec != CodecId::mjpeg),
      // MXF may state only when packets are decoded, and libavformat then gives that as both times.
      may_lack_times_(reorders_ && stream.parameters && stream.parameters->video_delay > 0) {}

void StreamIndexBuilder::add(const Packet& packet) {
    const auto most = limits().max_packets;
    TRICODEC_EXPECT(num_packets() < most, refused,
                    "the stream has more than limits.max_packets = " + std::to_string(most) + " packets");
    const auto facts = inspector_.inspect(packet);
    may_lack_times_ = may_lack_times_ && packet.pts == packet.dts;
    index_.packets_.push_back({packet.pts, packet.dts, packet.pos, packet.duration,
                               static_cast<std::int64_t>(packet.data.size()), -1, facts.entry, facts.shows_frame,
                               facts.open_entry, facts.non_reference, static_cast<std::int64_t>(facts.referenced_bytes),
                               facts.slots});
    is_packed_ = is_packed_ || facts.is_packed;
    layers_.push_back(facts.temporal_layer);
    has_parameter_sets_.push_back(facts.has_parameter_sets);
    index_.uncertain_ = index_.uncertain_ || facts.uncertain;
    if (facts.shows_frame && packet.pts != kNoTimestamp) {
        const bool follows_all = !reorders_ || (facts.entry && !facts.open_entry);
        const bool goes_back = latest_pts_ != kNoTimestamp && packet.pts <= latest_pts_;
        index_.uncertain_ = index_.uncertain_ || (follows_all && goes_back);
        latest_pts_ = std::max(latest_pts_, packet.pts);
    }
    index_.parameters_change_ = index_.parameters_change_ || facts.changes_parameters;
}

StreamIndex StreamIndexBuilder::make() const {
    StreamIndex index = index_;
    index.uncertain_ = index.uncertain_ || may_lack_times_;
    if (index.parameters_change_) {
        // The container's headers may not be those in force at a later key frame: it must bring its own.
        for (std::size_t k = 1; k < index.packets_.size(); ++k) {
            index.packets_[k].entry = index.packets_[k].entry && has_parameter_sets_[k];
        }
    }
    const int top_layer = layers_.empty() ? 0 : *std::max_element(layers_.begin(), layers_.end());
    for (std::size_t k = 0; k < layers_.size(); ++k) {
        // A picture of a lower layer may be referred to from the layers above it. A picture of a packed stream is
        // decoded with the packet after it.
        index.packets_[k].non_reference = index.packets_[k].non_reference && layers_[k] == top_layer && !is_packed_;
    }
    index.sort_positions();
    index.predict();
    return index;
}

}  // namespace tricodec
