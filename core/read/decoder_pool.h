// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "decode/decoder_records.h"
#include "index/gop_range.h"
#include "index/packet_feed.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// A decoder and its place in the stream: what it was sent, what it has given and left out.
struct DecoderCursor {
    std::unique_ptr<Decoder> decoder;
    int num_threads = 1;
    std::shared_ptr<const StreamIndex> index{};  ///< null: the decoder is at its start
    std::int64_t next_packet = 0;                ///< the one to send next
    std::deque<Packet> read_ahead{};             ///< packets from next_packet on that were read already
    std::int64_t last_given = -1;                ///< number of the last frame that came out
    std::int64_t last_left_out = -1;             ///< highest number of a frame of which the packet was not sent
    std::uint8_t stale_slots = 0;  ///< of AV1: slots of pictures that were left out; Note [Needed pictures]
    bool expects_reports = false;  ///< the codec complains of references before the entry: no damage
    bool fresh = false;            ///< it has seen no packets
    bool ended = false;            ///< it takes no more packets, and gives the frames of those it has
    std::int64_t num_reports = 0;  ///< of the decoder, that were looked at
};

/// Decoders of one stream for reuse, and the damage that they report.
///
/// Thread safety: safe.
class DecoderPool {
public:
    DecoderPool(std::string name, StreamInfo stream, const FrameReaderOptions& options)
        : name_(std::move(name)),
          stream_(std::move(stream)),
          options_{.device = options.device,
                   .num_threads = 1,
                   .context = options.context,
                   .block_statistics = options.block_statistics},
          damage_is_logged_(options.damage_is_logged ? options.damage_is_logged
                                                     : std::make_shared<std::atomic<bool>>(false)) {}

    /// Makes a decoder of one thread and keeps it for the first read that wants one. Fails now, rather than then, if
    /// nothing here decodes the codec.
    void prepare();
    /// A decoder for a range: one that stands on the way to its first wanted frame, or one at the range's entry with
    /// `num_threads`. `resumable`: nothing that follows the range may have been left out.
    [[nodiscard]] DecoderCursor acquire(const std::shared_ptr<const StreamIndex>& index, const GopRange& range,
                                        int num_threads, bool resumable);
    /// A decoder at the start of the stream. `fresh` demands one that has seen no packets.
    [[nodiscard]] DecoderCursor acquire_at_start(int num_threads, bool fresh);
    /// Takes a decoder back, with what it has reported.
    void release(DecoderCursor cursor);
    /// Adds to issues().
    void report(std::vector<DecodeIssue> damage);
    /// Frees idle decoders but the `num_kept` that were used last.
    void close_idle(std::size_t num_kept);
    /// The packet from which an idle decoder would continue to frame `i`, or -1 if none is between its entry and there.
    [[nodiscard]] std::int64_t resumes_at(const std::shared_ptr<const StreamIndex>& index, std::int64_t i) const;

    void count_sent() noexcept { ++num_sent_; }
    void count_left_out() noexcept { ++num_left_out_; }

    /// Decodes the whole stream to number its frames: in output order.
    [[nodiscard]] std::vector<IndexedFrame> scan(PacketFeed& feed, const StreamIndex& index, int num_threads);

    /// In a forked child: what a pool of the parent's has met, unless a thread was changing it.
    void take_issues_in_child(DecoderPool& parents);

    /// In packet order, at most kMostIssues.
    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    [[nodiscard]] std::int64_t num_damaged_packets() const;
    [[nodiscard]] std::string engine() const;
    /// Where the decoder made last works, and how many of its kind the hardware has (Decoder::num_engines).
    [[nodiscard]] Device device() const;
    [[nodiscard]] int num_engines() const;
    /// Packets that went to decoders, and that were left out.
    [[nodiscard]] std::int64_t num_sent() const noexcept { return num_sent_; }
    [[nodiscard]] std::int64_t num_left_out() const noexcept { return num_left_out_; }

private:
    void describe(const Decoder& decoder);

    std::string name_;  // of the source, for messages
    StreamInfo stream_;
    DecoderOptions options_;
    mutable std::mutex mutex_;
    std::vector<DecoderCursor> idle_;  // the one used last is at the end
    StreamIssues issues_;
    std::shared_ptr<std::atomic<bool>> damage_is_logged_;
    std::string engine_;
    Device works_on_{};
    int num_engines_ = 0;
    std::atomic<std::int64_t> num_sent_{0};
    std::atomic<std::int64_t> num_left_out_{0};
};

}  // namespace tricodec
