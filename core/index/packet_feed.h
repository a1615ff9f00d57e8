// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "index/listed_index.h"
#include "index/stream_index.h"
#include "io/digest.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {

/// Packets of one stream by number, for one or more decoders. Numbers count from the first packet of the file.
/// Thread safety: safe.
class PacketFeed {
public:
    PacketFeed(MediaSource source, DemuxerOptions options);

    [[nodiscard]] const MediaInfo& info() const noexcept { return info_; }
    [[nodiscard]] const StreamInfo& stream() const noexcept { return stream_; }

    /// What tells this source, stream and reading of it from others; see Note [Saved indexes].
    [[nodiscard]] Digest::Value fingerprint() const;
    /// MediaSource::permissions().
    [[nodiscard]] unsigned permissions() const noexcept { return source_.permissions(); }
    /// Reads the whole file's packets. Later reads find their place again.
    [[nodiscard]] StreamIndex build_index();
    /// The index of the packets that the container's table lists. Note [Listed packets]
    [[nodiscard]] std::optional<StreamIndex> listed_index(bool predicts);
    [[nodiscard]] std::optional<StreamIndex> placed_index(const StreamIndex& index,
                                                          std::span<const std::int64_t> entries);
    /// Reads packets [first, last] of a listed index, and completes it by their headers. The packets are kept for the
    /// next reads, up to a bound. False if they contradict the index.
    [[nodiscard]] bool inspect(std::int64_t first, std::int64_t last, StreamIndex& index);
    /// True if announce() has an effect.
    [[nodiscard]] bool fetches_ahead() const noexcept { return fetches_ahead_; }
    /// Tells the source which of its bytes the next reads take: pairs of a first and a last packet.
    void announce(const StreamIndex& index, std::span<const std::pair<std::int64_t, std::int64_t>> ranges);
    /// Tells it that the next reads take packet after packet.
    void announce_in_order();
    /// Forgets the packets that inspect() kept.
    void drop_kept();
    /// Bytes that were read from the source.
    [[nodiscard]] std::int64_t num_bytes_read() const;
    /// Demuxer::ends_early(), as far as is known by now.
    [[nodiscard]] std::string ends_early() const;
    /// The same of a saved index: its reader came to the end.
    void set_ends_early(const std::string& why);

    /// In a forked child, where the feed is not used any more: closes the source. False if a thread was reading it.
    [[nodiscard]] bool close_in_child() noexcept;

    /// Packet number `k`, or nothing past the end. Without an index only 0, 1, 2, ... in turn, or 0 again.
    [[nodiscard]] std::optional<Packet> read(std::int64_t k, const StreamIndex* index);
    /// Packets [first, last], fewer at the end, and no more once they have `most_bytes`.
    [[nodiscard]] std::deque<Packet> read_range(std::int64_t first, std::int64_t last, const StreamIndex& index,
                                                std::size_t most_bytes);

private:
    /// The feed for one call. One that fails, as by Ctrl-C, may have lost a part of a packet: after it the source is
    /// opened again.
    class Access {
    public:
        explicit Access(PacketFeed& feed);
        ~Access();

    private:
        PacketFeed& feed_;
        const std::unique_lock<std::timed_mutex> lock_;
        int num_uncaught_;
    };

    [[nodiscard]] Demuxer& demuxer();
    [[nodiscard]] std::optional<Packet> take_at(std::int64_t k, const StreamIndex* index);
    [[nodiscard]] bool reads_on(std::int64_t k, const StreamIndex* index) const;
    void go_to(std::int64_t k, const StreamIndex* index);
    /// The next packet, which is number `next_`. Where a seek in a damaged file has led to other packets than those of
    /// the index, they are read from the start.
    [[nodiscard]] std::optional<Packet> take_known(const StreamIndex* index);
    [[nodiscard]] bool try_seek(std::int64_t target, std::int64_t wanted, const StreamIndex& index);
    void rewind(const MediaSource& source);
    [[nodiscard]] std::optional<Packet> take();
    [[nodiscard]] std::optional<Packet> read_packet();
    void note_end(const std::string& why);

    mutable std::timed_mutex mutex_;  // held while the source is read
    MediaSource source_;
    MediaSource first_;  // the same, as it is read until packets are known by an index
    DemuxerOptions options_;
    std::unique_ptr<Demuxer> demuxer_;  // none after a call that failed
    MediaInfo info_;
    StreamInfo stream_;
    bool seek_by_bytes_ = false;
    bool fetches_ahead_ = false;
    bool sought_ = false;            // since the source was opened
    std::int64_t next_ = 0;          // number of the packet that take() gives, -1: not known
    std::optional<Packet> stashed_;  // read already, to be given again
    std::string ends_early_;
    std::optional<ListedPacketReader> listed_;
    std::map<std::int64_t, Packet> kept_;  // by inspect()
    std::size_t kept_bytes_ = 0;
    std::int64_t num_bytes_read_before_ = 0;  // by demuxers that are closed
};

}  // namespace tricodec
