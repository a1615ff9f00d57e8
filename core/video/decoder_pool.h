// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tricodec/decoder.h"
#include "video/issue_list.h"
#include "video/packet_feed.h"
#include "video/segment.h"

namespace tricodec {

/// Raised when decoding gives other frames than the index foretold, or damaged ones; the stream must be scanned.
///
/// Note [Damaged streams]: how a codec conceals damage depends on its number of threads. A stream found damaged is
/// decoded by one thread, from the start, into pictures that begin as zeros (FFmpeg 7 leaves what follows damage in a
/// picture of HEVC as it was in memory), so that its frames are the same every time and by every path, as far as the
/// codec's own are: FFmpeg 7.1's HEVC decoder takes motion from memory that it has not written, too. So are its
/// reports: those of the one thread take the place of all others.
struct IndexMismatch {
    std::int64_t frame;
};

/// A decoder on its way through the stream, and what it has given and left out.
struct DecoderCursor {
    std::unique_ptr<Decoder> decoder;
    int num_threads = 1;
    std::shared_ptr<const StreamIndex> index{};  ///< null: the decoder is at its start and stands nowhere
    std::int64_t next_packet = 0;                ///< the one to send next
    std::deque<Packet> read_ahead{};             ///< packets from next_packet on that were read already
    std::int64_t last_given = -1;                ///< number of the last frame that came out
    std::int64_t last_left_out = -1;             ///< highest number of a frame whose packet was not sent
    std::uint8_t stale_slots = 0;                ///< of AV1: whose pictures were left out; Note [Needed pictures]
    bool expects_reports = false;                ///< the codec complains of references before the entry: no damage
    bool fresh = false;                          ///< it has seen no packets
    std::int64_t num_collected = 0;              ///< of its reports, by collect_issues()
};

/// What the decoder of a segment goes on with. All of it stays as it is until run() returns.
struct NextSegment {
    std::shared_ptr<const StreamIndex> index;  ///< which numbers the packets and frames so far as the one before
    const Segment* segment;                    ///< touches the one before
    const std::deque<Packet>* packets;         ///< of the segment, where they have been read already; or empty
};

/// How a segment is to be decoded.
struct RunOptions {
    int num_threads = 1;
    /// More is likely to be asked from where this ends: the decoder is fed on rather than flushed, so that it stays
    /// usable there.
    bool goes_on = false;
    /// The segment's packets, where they have been read already.
    const std::deque<Packet>* packets = nullptr;
    /// Asked when the last packet of the segment has been sent, and of each one that it gave: what the decoder goes on
    /// with, so that the pictures between need not be decoded by two; its frames go to `sink` after those before. Its
    /// first one must not be before frame `from`, which is the first that the decoder can still give.
    std::function<std::optional<NextSegment>(std::int64_t from)> next{};
};

/// Decoders of one stream for reuse, and the running of segments on them.
///
/// Note [Pictures left out]: packets whose picture nobody asked for and nothing refers to are not sent to the decoder,
/// or only as far as they hold other pictures (IndexedPacket::referenced_bytes); of AV1 also those that only pictures
/// refer to which are left out themselves (Note [Needed pictures]), unless more is likely to be asked for. The frames
/// that come out are told apart by their packets, not by counting. Should a stream not hold what its headers say, the
/// codec complains or a frame is missing; the segment is then decoded in full, and nothing of the stream is left out
/// any more.
///
/// Thread safety: safe.
class DecoderPool {
public:
    DecoderPool(std::string name, StreamInfo stream, std::string device, std::uintptr_t context)
        : name_(std::move(name)), stream_(std::move(stream)), device_(std::move(device)), context_(context) {}

    /// Makes a decoder of one thread and keeps it for the first read that wants such a one: fails now, rather than
    /// then, if nothing here decodes the codec.
    void prepare();
    /// A decoder at its start. `fresh` demands one that has seen no packets, `damaged` one for Note [Damaged streams].
    [[nodiscard]] std::unique_ptr<Decoder> acquire(int num_threads, bool fresh, bool damaged = false);
    /// Takes a decoder back, and its reports after the first `num_collected` if they tell of the stream rather than of
    /// where decoding began.
    void release(std::unique_ptr<Decoder> decoder, int num_threads, bool report, std::int64_t num_collected = 0);
    /// Takes a decoder's reports after the first `num_collected`, which then are all. After each packet of a damaged
    /// stream: a decoder does not keep all of them.
    void collect_issues(const Decoder& decoder, std::int64_t& num_collected);

    /// Frees those that nobody uses, but for so many that were used last.
    void close_idle(std::size_t num_kept);

    /// Decodes a segment and hands each wanted frame to `sink`, ascending, with index and times set.
    /// Throws IndexMismatch.
    void run(PacketFeed& feed, const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
             const RunOptions& options, const std::function<void(Frame)>& sink);
    /// The packet from which an idle decoder would go on to frame `i`, or -1 if none is between its entry and there.
    [[nodiscard]] std::int64_t resumes_at(const std::shared_ptr<const StreamIndex>& index, std::int64_t i) const;

    struct Scan {
        std::vector<IndexedFrame> frames;
        bool damaged = false;
    };
    /// Decodes the whole stream to number its frames, and tells whether any picture was damaged.
    [[nodiscard]] Scan scan(PacketFeed& feed, const StreamIndex& index, int num_threads);

    /// In packet order, at most kMostIssues.
    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    [[nodiscard]] std::int64_t num_damaged_packets() const;
    [[nodiscard]] std::string engine() const;
    /// Where the decoder made last works, and how many of its kind the hardware has (Decoder::num_engines).
    [[nodiscard]] Device device() const;
    [[nodiscard]] int num_engines() const;
    /// Packets that run() has sent to decoders, and that it has left out.
    [[nodiscard]] std::int64_t num_sent() const noexcept { return num_sent_; }
    [[nodiscard]] std::int64_t num_left_out() const noexcept { return num_left_out_; }

private:
    struct Progress {
        std::size_t num_given = 0;
        bool left_out = false;
    };
    /// `index` and `segment` become those of all that was decoded: see RunOptions::next.
    void run_once(PacketFeed& feed, std::shared_ptr<const StreamIndex>& index, Segment& segment,
                  const RunOptions& options, const std::function<void(Frame)>& sink, bool leave_out,
                  Progress& progress);
    [[nodiscard]] DecoderCursor acquire_for(const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
                                            const RunOptions& options);
    void park(DecoderCursor cursor, bool report);
    void describe(const Decoder& decoder);
    [[nodiscard]] Scan scan_once(PacketFeed& feed, const StreamIndex& index, int num_threads);
    std::string name_;  // of the source, for messages
    StreamInfo stream_;
    std::string device_;
    std::uintptr_t context_;  // DecoderOptions::context
    mutable std::mutex mutex_;
    std::vector<DecoderCursor> idle_;  // the one used last at the end
    StreamIssues issues_;
    bool told_of_damage_ = false;
    std::string engine_;
    Device works_on_{};
    int num_engines_ = 0;
    std::atomic<bool> leaves_out_{true};
    std::atomic<std::int64_t> num_sent_{0};
    std::atomic<std::int64_t> num_left_out_{0};
};

}  // namespace tricodec
