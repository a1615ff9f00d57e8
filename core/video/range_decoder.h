// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "video/decoder_pool.h"

namespace tricodec {

/// Decodes one GOP range on one decoder and gives the wanted frames one by one, ascending, with index and times set.
///
/// Note [Damaged streams]: how a codec conceals damage depends on its number of threads. A stream found damaged is
/// decoded by one thread, from the start, into pictures that begin as zeros (FFmpeg 7 leaves what follows damage in a
/// picture of HEVC as it was in memory). Its frames are then the same every time and on every path, as far as the
/// codec's own are: FFmpeg 7.1's HEVC decoder also takes motion from memory that it has not written.
///
/// Note [Reports of damage]: a codec complains of an undamaged stream, too, where it begins in the middle, and it may
/// where its threads work side by side. Only one thread that decodes from the start is believed. What other decoders
/// report makes that thread decode the stream.
///
/// Note [Leftovers]: some encoders of MPEG-4 pad pictures wrongly. libavcodec counts pictures that end well, and takes
/// what a damaged one leaves over for padding until it has seen two of them. So a decoder that begins in the middle, or
/// has threads that count apart, may not see damage that one from the start sees. These decoders report any leftovers
/// (DecoderOptions::reports_leftovers). They stop once a scan has found the stream to be so without damage.
///
/// Note [Pictures left out]: packets of a picture that is not wanted and that nothing refers to are not sent to the
/// decoder, or only as far as they hold other pictures (IndexedPacket::referenced_bytes). Of AV1 the decoder also
/// leaves out pictures that only such pictures refer to (Note [Needed pictures]), unless the read continues past the
/// range. The frames that come out are told apart by their packets, not by counting. If the stream does not hold what
/// its headers say, the codec complains or a frame is missing. The range is then decoded in full, and nothing of the
/// stream is left out from then on.
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
    /// the stream, or the stream to be damaged.
    [[nodiscard]] std::optional<Frame> next();
    /// True if the frames must be numbered again by decoding.
    [[nodiscard]] bool stale() const noexcept { return stale_; }
    /// False where frames are counted from the start.
    [[nodiscard]] bool indexed() const noexcept { return index_ != nullptr; }

private:
    [[nodiscard]] std::optional<Frame> step();
    [[nodiscard]] std::optional<Frame> count_on_one_thread();
    [[nodiscard]] bool is_damaged(bool corrupt);
    /// Note [Reports of damage]
    [[nodiscard]] bool believed() const noexcept { return index_ ? index_->counted() : blank_; }
    [[nodiscard]] std::optional<Frame> match(Frame frame);
    /// False at the end of the range or of the stream.
    bool have_packet();
    void send_packet();
    void begin();
    void decode_in_full();
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
    bool left_out_ = false;                     // something was
    bool blank_ = false;                        // while counting: on one thread, after damage was met
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

}  // namespace tricodec
