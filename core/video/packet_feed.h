// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "media/digest.h"
#include "tricodec/demuxer.h"
#include "video/stream_index.h"
#include "video/stream_index_builder.h"

namespace tricodec {

/// Packets of one stream by number, for one or more decoders. Numbers count from the first packet of the file.
/// Thread safety: safe.
class PacketFeed {
public:
    PacketFeed(MediaSource source, DemuxerOptions options);

    [[nodiscard]] const MediaInfo& info() const noexcept { return info_; }
    [[nodiscard]] const StreamInfo& stream() const noexcept { return stream_; }

    /// True if packets can be read a second time.
    [[nodiscard]] bool rereadable() const { return source_.reopenable() || seekable_; }
    /// What tells this source, stream and reading of it from others; see Note [Saved indexes].
    [[nodiscard]] Digest::Value fingerprint() const;
    using Seen = std::function<void(const StreamIndexBuilder&, Packet)>;
    /// Reads the whole file's packets; later reads find their place again. `seen` is given each of them, with the index
    /// as far as it has come.
    [[nodiscard]] StreamIndex build_index(const Seen& seen = {});
    /// Demuxer::ends_early(), as far as is known by now.
    [[nodiscard]] std::string ends_early() const;
    /// The same of a saved index, whose reader came to the end.
    void set_ends_early(const std::string& why);

    /// Packet number `k`, or nothing past the end. Without an index only 0, 1, 2, ... in turn, or 0 again.
    [[nodiscard]] std::optional<Packet> read(std::int64_t k, const StreamIndex* index);
    /// Packets [first, last], fewer at the end, and no more once they have `most_bytes`.
    [[nodiscard]] std::deque<Packet> read_range(std::int64_t first, std::int64_t last, const StreamIndex& index,
                                                std::size_t most_bytes);

private:
    void go_to(std::int64_t k, const StreamIndex* index);
    [[nodiscard]] bool try_seek(std::int64_t target, std::int64_t wanted, const StreamIndex& index);
    void rewind();
    [[nodiscard]] std::optional<Packet> take();
    [[nodiscard]] std::optional<Packet> read_packet();
    void note_end(const std::string& why);

    mutable std::mutex mutex_;
    MediaSource source_;
    DemuxerOptions options_;
    std::unique_ptr<Demuxer> demuxer_;  // none after a file that was there could not be opened again
    bool seekable_ = false;
    MediaInfo info_;
    StreamInfo stream_;
    bool seek_by_bytes_ = false;
    std::int64_t next_ = 0;          // number of the packet that take() gives, -1 unknown
    std::optional<Packet> stashed_;  // read already, to be given again
    std::string ends_early_;
};

}  // namespace tricodec
