// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "index/index_file.h"
#include "index/packet_feed.h"
#include "index/stream_index.h"
#include "read/decoder_pool.h"
#include "read/decoder_slots.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Decodes one GOP range on one decoder and gives the wanted frames one by one, ascending, with index and times set.
///
/// Note [Damaged streams]: what a codec reports goes to issues(), and its frames are given as they come. Frames before
/// the damage are exact. How the codec conceals damage depends on its threads and on where decoding began, so frames
/// after damage, up to the next key frame, may differ from read to read.
///
/// Note [Pictures left out]: packets of a picture that is not wanted and that nothing refers to are not sent to the
/// decoder, or only as far as they hold other pictures (IndexedPacket::referenced_bytes). Of AV1 the decoder also
/// leaves out pictures that only such pictures refer to (Note [Needed pictures]), unless the read continues past the
/// range. The frames that come out are told apart by their packets, not by counting.
///
/// Thread safety: one thread at a time.
class RangeDecoder {
public:
    struct Options {
        int num_threads = 1;
        /// More is likely to be asked from where the range ends: the decoder gets the packets that follow instead of
        /// being flushed, so that it stays usable there.
        bool resumable = false;
    };
    /// `range` has at least one wanted frame.
    RangeDecoder(PacketFeed& feed, DecoderPool& pool, std::shared_ptr<const StreamIndex> index, GopRange range,
                 const Options& options);
    /// All frames from the first on, counted: needs no index.
    RangeDecoder(PacketFeed& feed, DecoderPool& pool, int num_threads);
    ~RangeDecoder();
    RangeDecoder(const RangeDecoder&) = delete;
    RangeDecoder& operator=(const RangeDecoder&) = delete;

    /// The next frame; nothing at the end of the range, and nothing from then on if the index turns out not to describe
    /// the stream.
    [[nodiscard]] std::optional<Frame> next();
    /// True if the frames must be numbered again by decoding.
    [[nodiscard]] bool stale() const noexcept { return stale_; }
    /// False where frames are counted from the start.
    [[nodiscard]] bool indexed() const noexcept { return index_ != nullptr; }

private:
    [[nodiscard]] std::optional<Frame> step();
    [[nodiscard]] std::optional<Frame> match(Frame frame);
    /// False at the end of the range or of the stream.
    bool have_packet();
    void send_packet();
    void begin();
    void finish();

    PacketFeed& feed_;
    DecoderPool& pool_;
    std::shared_ptr<const StreamIndex> index_;  // null while counting
    GopRange range_;
    Options options_;
    DecoderCursor cursor_;
    NeededPackets needed_;
    bool leave_out_ = false;                    // what is not wanted and not referred to
    bool skips_ = false;                        // Note [Needed pictures]
    bool ended_ = false;                        // the decoder was sent the end
    std::optional<ListedPacketReader> listed_;  // of packets that were not inspected before
    bool mismatch_ = false;                     // the frames are not those that the index predicts
    bool stale_ = false;
    std::size_t next_ = 0;          // of the wanted frames, or the number of the next frame while counting
    std::int64_t num_seen_ = 0;     // frames that came out, where they are counted
    std::int64_t timed_pts_ = 0;    // while counting: of the last frame with a time stamp
    std::int64_t num_untimed_ = 0;  // frames since
    std::int64_t packets_at_once_ = 0;
};

/// One video stream: its packets, the index that numbers its frames, and decoders for it.
///
/// An index predicts which frames decoding gives. When a RangeDecoder finds that it does not (stale()), the read that
/// runs it calls renumber(), takes the new index and continues with it.
/// Thread safety: decode() and the const functions from several threads; index() and renumber() from one at a time.
class IndexedVideo {
public:
    IndexedVideo(const MediaSource& source, const FrameReaderOptions& options);

    [[nodiscard]] const MediaInfo& info() const noexcept { return feed_.info(); }
    [[nodiscard]] const StreamInfo& stream() const noexcept { return feed_.stream(); }
    /// FrameReaderOptions::context.
    [[nodiscard]] std::uintptr_t context() const noexcept { return context_; }
    [[nodiscard]] DecoderPool& pool() noexcept { return pool_; }
    [[nodiscard]] const DecoderPool& pool() const noexcept { return pool_; }

    /// The index, with numbered frames; loaded, or built at the first call. It never changes: renumber() makes another.
    /// Of packets that the container lists, it may lack what only their headers state: see index_for().
    [[nodiscard]] std::shared_ptr<const StreamIndex> index();
    /// The index, with all that planning a read of these frames needs. `numbers` are ascending, distinct and of
    /// index(). If what is read contradicts the container's table, it numbers other frames: !numbers_as().
    [[nodiscard]] std::shared_ptr<const StreamIndex> index_for(std::span<const std::int64_t> numbers);
    [[nodiscard]] bool has_index() const noexcept { return index_ != nullptr; }
    /// Numbers the frames by decoding all of them, unless that has happened since `stale` was the index. If `stale` is
    /// of such a decode, frames are told apart by counting from then on; if they were already, throws
    /// Error(corrupt_data): the stream did not give the same frames again.
    void renumber(const StreamIndex& stale);
    /// Throws Error(corrupt_data), which says why, if no frame can be decoded.
    void expect_frames();
    /// Builds the index if need be and writes it. Throws Error(io).
    void save_index(const std::filesystem::path& path);
    [[nodiscard]] std::shared_ptr<const FrameIndex> frame_index();

    /// `range` is of index(), or of one before it.
    [[nodiscard]] RangeDecoder decode(const std::shared_ptr<const StreamIndex>& index, GopRange range,
                                      const RangeDecoder::Options& options) {
        return {feed_, pool_, index, std::move(range), options};
    }
    /// All frames from the first on, without an index.
    [[nodiscard]] RangeDecoder decode_from_start(int num_threads) {
        feed_.announce_in_order();
        return {feed_, pool_, num_threads};
    }
    /// Frame 0 from the first packet alone, with or without an index, without waiting for pictures that a codec
    /// reorders; or nothing where the headers leave doubt that it is frame 0, or the picture is damaged.
    [[nodiscard]] std::optional<Frame> decode_first_frame();

    /// Cores of the CPU, or engines of the GPU; FrameReaderOptions::num_workers if that was given.
    [[nodiscard]] int num_workers() const noexcept { return num_workers_; }
    /// Threads of a decoder that has the workers, or `num_cores` of them, to itself. Note [Threads of a codec]
    [[nodiscard]] int num_threads() const noexcept { return num_threads_; }
    [[nodiscard]] int num_threads(int num_cores) const;
    /// Of the GPU that decodes; null on the CPU.
    [[nodiscard]] DecoderSlots* slots() const;
    /// On a GPU: how many decoders are worth having for a read of so many packets.
    [[nodiscard]] int num_gpu_decoders(std::int64_t num_packets) const;

    /// In a forked child: closes the source, and is not used any more. False if a thread was reading it.
    [[nodiscard]] bool close_in_child() noexcept { return feed_.close_in_child(); }
    /// In a forked child: what the parent's knew of the same source.
    void learn_in_child(IndexedVideo& parents);

    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    [[nodiscard]] std::int64_t num_damaged_packets() const;
    [[nodiscard]] std::int64_t num_bytes_read() const { return feed_.num_bytes_read(); }

private:
    /// Reads all packets.
    void build_index();
    /// False if all packets of these frames have places; else another index_ has them. Note [Predicted packets]
    [[nodiscard]] bool place(std::span<const std::int64_t> numbers);
    /// `counted`: frames are told apart by counting, whatever the scan finds.
    void scan(bool counted);
    [[nodiscard]] bool is_hidden() const;          ///< by an edit list: all of its packets
    [[nodiscard]] bool is_without_frames() const;  // as far as is known by now
    void keep_index();

    int num_workers_;
    bool workers_given_;
    std::filesystem::path index_path_;
    IndexOrigin index_origin_;
    std::uintptr_t context_;
    PacketFeed feed_;
    int num_threads_;
    DecoderPool pool_;
    std::shared_ptr<const StreamIndex> index_;
    std::shared_ptr<const FrameIndex> frame_index_;  // of index_, or the one that was given and not looked at yet
};

}  // namespace tricodec
