// SPDX-License-Identifier: Apache-2.0
#include "video/packet_feed.h"

#include <algorithm>

#include "tricodec/error.h"
#include "tricodec/log.h"
#include "video/index_file.h"

namespace tricodec {
namespace {
// Reading on is cheaper than a seek, which re-reads at least a buffer and loses the parser's state.
constexpr std::int64_t kReadOnPackets = 48;
// How far to look for a packet that is known after a seek, before reading from the start.
constexpr int kIdentifyPackets = 300;

DemuxerOptions with_silent_end(DemuxerOptions options) {
    options.silent_end = true;
    return options;
}

}  // namespace

PacketFeed::PacketFeed(MediaSource source, DemuxerOptions options)
    : source_(std::move(source)),
      options_(with_silent_end(options)),
      demuxer_(Demuxer::open(source_, options_)),
      seekable_(demuxer_->seekable()),
      info_(demuxer_->info()),
      stream_(demuxer_->stream()) {
    // Formats without an index of their own: libavformat would search by time stamps that may not exist or not rise.
    seek_by_bytes_ = info_.elementary || info_.format_name == "mpegts" || info_.format_name == "mpeg";
}

Digest::Value PacketFeed::fingerprint() const {
    return tricodec::fingerprint(source_, info_, stream_, options_.ignore_edit_list);
}

StreamIndex PacketFeed::build_index(const Seen& seen) {
    std::lock_guard lock(mutex_);
    if (next_ != 0 || stashed_) rewind();
    next_ = -1;
    StreamIndexBuilder builder(stream_);
    while (auto packet = read_packet()) {
        builder.add(*packet);
        if (seen) seen(builder, std::move(*packet));
    }
    next_ = builder.num_packets();
    auto index = builder.make();
    index.set_ends_early(ends_early_);
    return index;
}

std::optional<Packet> PacketFeed::read_packet() {
    auto packet = demuxer_->read();
    if (!packet) note_end(demuxer_->ends_early());
    return packet;
}

void PacketFeed::note_end(const std::string& why) {
    if (why.empty() || !ends_early_.empty()) return;
    ends_early_ = why;
    log(LogLevel::warning, "'" + info_.name + "' is damaged: it ends early: " + why + "; this is in issues");
}

std::string PacketFeed::ends_early() const {
    std::lock_guard lock(mutex_);
    return ends_early_;
}

void PacketFeed::set_ends_early(const std::string& why) {
    std::lock_guard lock(mutex_);
    note_end(why);
}

std::optional<Packet> PacketFeed::take() {
    std::optional<Packet> packet;
    if (stashed_) {
        packet = std::move(stashed_);
        stashed_.reset();
    } else {
        packet = read_packet();
    }
    if (packet) ++next_;
    return packet;
}

std::optional<Packet> PacketFeed::read(std::int64_t k, const StreamIndex* index) {
    std::lock_guard lock(mutex_);
    if (index != nullptr && k >= index->num_packets()) return std::nullopt;
    go_to(k, index);
    return take();
}

std::deque<Packet> PacketFeed::read_range(std::int64_t first, std::int64_t last, const StreamIndex& index,
                                          std::size_t most_bytes) {
    std::lock_guard lock(mutex_);
    std::deque<Packet> packets;
    std::size_t bytes = 0;
    go_to(first, &index);
    while (first + static_cast<std::int64_t>(packets.size()) <= last && bytes < most_bytes) {
        auto packet = take();
        if (!packet) break;
        bytes += packet->data.size();
        packets.push_back(std::move(*packet));
    }
    return packets;
}

void PacketFeed::go_to(std::int64_t k, const StreamIndex* index) {
    if (next_ == k) return;
    if (demuxer_ == nullptr) rewind();  // it could not be opened again for the read before
    const bool ahead = next_ >= 0 && next_ < k;
    if (!(ahead && k - next_ <= kReadOnPackets) && k > 0 && index != nullptr && seekable_) {
        // To the packet itself; should libavformat land behind it, to earlier key frames.
        std::int64_t target = k;
        for (int attempt = 0; attempt < 3 && target > 0; ++attempt) {
            if (try_seek(target, k, *index)) break;
            do --target;
            while (target > 0 && !index->packet(target).entry);
        }
    }
    if (next_ < 0 || next_ > k) rewind();
    while (next_ < k) {
        if (!take()) {
            next_ = -1;
            fail(ErrorCode::io, "'" + info_.name + "' ended before packet " + std::to_string(k) +
                                    ", which was there before; " + "did the file change while it was open?");
        }
    }
}

bool PacketFeed::try_seek(std::int64_t target, std::int64_t wanted, const StreamIndex& index) {
    const auto& packet = index.packet(target);
    stashed_.reset();
    next_ = -1;
    try {
        if (seek_by_bytes_) {
            if (packet.pos < 0) return false;
            demuxer_->seek_bytes(packet.pos);
        } else {
            const auto time = std::min(packet.dts == kNoTimestamp ? packet.pts : packet.dts,
                                       packet.pts == kNoTimestamp ? packet.dts : packet.pts);
            if (time == kNoTimestamp) return false;
            demuxer_->seek(time);
        }
    } catch (const Error& error) {
        log(LogLevel::debug, std::string("a seek failed, reading from the start instead: ") + error.what());
        return false;
    }
    for (int i = 0; i < kIdentifyPackets; ++i) {
        auto read = demuxer_->read();
        if (!read) return false;
        const auto number = index.find_packet(*read);
        if (number < 0) continue;
        if (number > wanted) return false;
        stashed_ = std::move(read);
        next_ = number;
        return true;
    }
    return false;
}

void PacketFeed::rewind() {
    TRICODEC_EXPECT(
        rereadable(), unsupported,
        "'" + info_.name + "' cannot be read again from the start; pass a file, bytes or an object that can seek");
    stashed_.reset();
    next_ = -1;
    demuxer_.reset();  // before its reader is opened again
    demuxer_ = Demuxer::open(source_, options_);
    next_ = 0;
}

}  // namespace tricodec
