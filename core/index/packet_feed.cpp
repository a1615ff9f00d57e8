// SPDX-License-Identifier: Apache-2.0
#include "index/packet_feed.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/stage_scope.h"
#include "index/index_file.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {
// Reading on is cheaper than a seek, which re-reads at least a buffer and loses the parser's state.
constexpr std::int64_t kReadOnPackets = 48;
constexpr std::int64_t kReadOnBytes = 1 << 20;
// How far to look for a packet that is known after a seek, before reading from the start.
constexpr int kIdentifyPackets = 300;
constexpr std::size_t kMostKeptBytes = 64 << 20;

DemuxerOptions with_silent_end(DemuxerOptions options) {
    options.silent_end = true;
    return options;
}

}  // namespace

PacketFeed::PacketFeed(MediaSource source, DemuxerOptions options)
    : source_(source.spooled()),
      first_(std::move(source)),
      options_(with_silent_end(options)),
      demuxer_(Demuxer::open(first_, options_)),
      info_(demuxer_->info()),
      stream_(demuxer_->stream()) {
    // Formats without an index of their own: libavformat would search by time stamps that may not exist or not rise.
    fetches_ahead_ = demuxer_->fetches_ahead();
    seek_by_bytes_ = info_.elementary || info_.format_name == "mpegts" || info_.format_name == "mpeg";
}

PacketFeed::Access::Access(PacketFeed& feed)
    : feed_(feed), lock_(lock_interruptibly(feed.mutex_)), num_uncaught_(std::uncaught_exceptions()) {}

PacketFeed::Access::~Access() {
    if (std::uncaught_exceptions() == num_uncaught_) return;
    feed_.stashed_.reset();
    feed_.next_ = -1;
    if (feed_.demuxer_) feed_.num_bytes_read_before_ += feed_.demuxer_->num_bytes_read();
    feed_.demuxer_.reset();
}

Demuxer& PacketFeed::demuxer() {
    if (demuxer_ == nullptr) rewind(source_);
    return *demuxer_;
}

Digest::Value PacketFeed::fingerprint() const {
    return tricodec::fingerprint(source_, info_, stream_, options_.ignore_edit_list);
}

StreamIndex PacketFeed::build_index() {
    const Access access(*this);
    if (next_ != 0 || stashed_ || !demuxer().seekable()) rewind(source_);
    kept_.clear();
    kept_bytes_ = 0;
    next_ = -1;
    StageScope scope(Stage::index, 0);
    if (demuxer_->fetches_ahead()) demuxer_->will_read_on();
    StreamIndexBuilder builder(stream_);
    while (const auto packet = read_packet()) {
        check_interrupt();
        builder.add(*packet);
    }
    next_ = builder.num_packets();
    scope.set_num_frames(next_);
    auto index = builder.make();
    index.set_ends_early(ends_early_);
    return index;
}

std::optional<StreamIndex> PacketFeed::listed_index(bool predicts) {
    const Access access(*this);
    return tricodec::listed_index(demuxer(), predicts);
}

std::optional<StreamIndex> PacketFeed::placed_index(const StreamIndex& index, std::span<const std::int64_t> entries) {
    const Access access(*this);
    return tricodec::placed_index(demuxer(), index, entries);
}

bool PacketFeed::inspect(std::int64_t first, std::int64_t last, StreamIndex& index) {
    const Access access(*this);
    StageScope scope(Stage::index, 0);
    if (!listed_) listed_.emplace(stream_);
    go_to(first, &index);
    for (auto k = first; k <= last; ++k) {
        check_interrupt();
        auto packet = take_known(&index);
        const auto completed = packet ? listed_->complete(index, k, *packet) : std::nullopt;
        if (!completed) return false;
        index.set_packet(k, *completed);
        if (kept_bytes_ + packet->data.size() > kMostKeptBytes) continue;
        kept_bytes_ += packet->data.size();
        kept_.insert_or_assign(k, std::move(*packet));
    }
    scope.set_num_frames(last - first + 1);
    return true;
}

void PacketFeed::announce(const StreamIndex& index, std::span<const std::pair<std::int64_t, std::int64_t>> ranges) {
    std::vector<ByteRange> bytes;
    for (const auto& [first, last] : ranges) {
        auto begin = index.packet(first).pos;
        auto end = begin;
        for (auto k = first; k <= last; ++k) {
            const auto& packet = index.packet(k);
            begin = std::min(begin, packet.pos);
            end = std::max(end, packet.pos + packet.size_bytes);
        }
        if (begin < 0) return;  // the container does not say where its packets are
        if (!bytes.empty() && begin == bytes.back().offset + bytes.back().size_bytes) {
            bytes.back().size_bytes += end - begin;
        } else {
            bytes.push_back({begin, end - begin});
        }
    }
    const Access access(*this);
    demuxer().will_read(bytes);
}

void PacketFeed::announce_in_order() {
    if (!fetches_ahead_) return;
    const Access access(*this);
    demuxer().will_read_on();
}

void PacketFeed::drop_kept() {
    const auto lock = lock_interruptibly(mutex_);
    kept_.clear();
    kept_bytes_ = 0;
}

std::int64_t PacketFeed::num_bytes_read() const {
    const auto lock = lock_interruptibly(mutex_);
    return num_bytes_read_before_ + (demuxer_ ? demuxer_->num_bytes_read() : 0);
}

bool PacketFeed::close_in_child() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) demuxer_.reset();
    return lock.owns_lock();
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
    const auto lock = lock_interruptibly(mutex_);
    return ends_early_;
}

void PacketFeed::set_ends_early(const std::string& why) {
    const auto lock = lock_interruptibly(mutex_);
    note_end(why);
}

std::optional<Packet> PacketFeed::take() {
    auto packet = stashed_ ? std::exchange(stashed_, std::nullopt) : read_packet();
    if (packet) ++next_;
    return packet;
}

std::optional<Packet> PacketFeed::read(std::int64_t k, const StreamIndex* index) {
    const Access access(*this);
    if (index != nullptr && k >= index->num_packets()) return std::nullopt;
    return take_at(k, index);
}

std::optional<Packet> PacketFeed::take_at(std::int64_t k, const StreamIndex* index) {
    if (auto kept = kept_.extract(k)) {
        kept_bytes_ -= kept.mapped().data.size();
        return std::move(kept.mapped());
    }
    go_to(k, index);
    return take_known(index);
}

std::deque<Packet> PacketFeed::read_range(std::int64_t first, std::int64_t last, const StreamIndex& index,
                                          std::size_t most_bytes) {
    const Access access(*this);
    std::deque<Packet> packets;
    std::size_t bytes = 0;
    while (first + static_cast<std::int64_t>(packets.size()) <= last && bytes < most_bytes) {
        auto packet = take_at(first + static_cast<std::int64_t>(packets.size()), &index);
        if (!packet) break;
        bytes += packet->data.size();
        packets.push_back(std::move(*packet));
    }
    return packets;
}

void PacketFeed::go_to(std::int64_t k, const StreamIndex* index) {
    if (!demuxer().seekable() && index != nullptr) rewind(source_);
    if (next_ == k) return;
    if (!reads_on(k, index) && k > 0 && index != nullptr) {
        // To the packet itself; should libavformat land past it, to earlier key frames.
        std::int64_t target = k;
        for (int attempt = 0; attempt < 3 && target > 0; ++attempt) {
            if (try_seek(target, k, *index)) break;
            do --target;
            while (target > 0 && !index->packet(target).entry);
        }
    }
    if (next_ < 0 || next_ > k) rewind(index == nullptr && !demuxer_->seekable() ? first_ : source_);
    while (next_ < k) {
        if (!take_known(index)) {
            next_ = -1;
            fail(ErrorCode::corrupt_data,
                 "'" + info_.name + "' ended before packet " + std::to_string(k) +
                     ", which was there before: it is damaged, or it changed while it was open");
        }
    }
}

/// True if packet `k` is near enough to be reached without a seek.
bool PacketFeed::reads_on(std::int64_t k, const StreamIndex* index) const {
    if (next_ < 0 || next_ > k || k - next_ > kReadOnPackets) return false;
    if (index == nullptr || k >= index->num_packets()) return true;
    return index->packet(k).pos - index->packet(next_).pos <= (demuxer_->fetches_ahead() ? 0 : kReadOnBytes);
}

std::optional<Packet> PacketFeed::take_known(const StreamIndex* index) {
    const auto k = next_;
    auto packet = take();
    if (!sought_ || index == nullptr || k >= index->num_packets()) return packet;
    if (packet && index->is_packet(k, *packet)) return packet;
    log(LogLevel::debug, "a seek in '" + info_.name + "' led to other packets, reading from the start instead");
    rewind(source_);
    do packet = take();
    while (packet && next_ <= k);
    return packet;
}

bool PacketFeed::try_seek(std::int64_t target, std::int64_t wanted, const StreamIndex& index) {
    const auto& packet = index.packet(target);
    stashed_.reset();
    next_ = -1;
    sought_ = true;
    try {
        if (seek_by_bytes_) {
            if (packet.pos < 0) return false;
            demuxer_->seek_bytes(packet.pos);
        } else {
            // libavformat searches by presentation time, and goes one GOP too far back for a decoding time.
            const auto time = packet.pts == kNoTimestamp ? packet.dts : packet.pts;
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

void PacketFeed::rewind(const MediaSource& source) {
    stashed_.reset();
    next_ = -1;
    if (demuxer_) num_bytes_read_before_ += demuxer_->num_bytes_read();
    demuxer_.reset();  // before its reader is opened again
    demuxer_ = Demuxer::open(source, options_);
    next_ = 0;
    sought_ = false;
}

}  // namespace tricodec
