// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/container/demuxer.h"
#include "tricodec/encode/transcode.h"
#include "tricodec/io/media_source.h"

namespace tricodec {

/// The part of a source that becomes a file, in seconds of the source.
struct CopyRange {
    std::optional<double> begin_seconds;
    std::optional<double> end_seconds;
    double shift_seconds = 0.0;  ///< taken off every time
    bool continuous = false;     ///< the clock of the source is known not to jump
};

/// Puts the packets of all streams on one line of time, by ffmpeg's rule: where the times of a stream jump, everything
/// after the jump moves so that the stream continues without a gap.
class PacketClock {
public:
    explicit PacketClock(const MediaInfo& media);

    /// True if the packet's time does not follow those of its stream.
    [[nodiscard]] bool jumps(const Packet& packet) const;
    /// Moves the packet's times to their places. Packets of one stream come in their order.
    void place(Packet& packet);
    [[nodiscard]] std::size_t num_jumps() const noexcept { return offsets_.size() - 1; }

private:
    struct Stream {
        std::size_t segment = 0;  // of offsets_
        std::optional<double> last{};
        double next = 0.0;  // where the packet after the last one is expected
    };
    [[nodiscard]] bool jumps(const Stream& stream, double seconds) const;

    bool clock_jumps_;
    std::vector<double> offsets_{0.0};  // seconds, of the parts between jumps
    std::map<int, Stream> streams_;
};

/// Copies the audio packets of a source, and its video packets if asked, with a demuxer of its own.
class PacketCopier {
public:
    /// `copies_video`: also the packets of `video_stream`, from the first key frame in the range. `repeats_headers`:
    /// each of its key frames brings those of the codec, for containers that keep none.
    PacketCopier(const MediaSource& source, int video_stream, bool copies_video, bool repeats_headers = false);

    /// Before the first copy_until(). Without it, everything is copied.
    void set_range(const CopyRange& range);

    [[nodiscard]] const MediaInfo& info() const noexcept { return demuxer_->info(); }
    /// Gives `write` the packets that begin before a time of the source, in file order.
    void copy_until(double seconds, const std::function<void(const Packet&)>& write);

private:
    void open();
    /// Continues near the start of the range; at the first packet where the container cannot tell that nothing is lost.
    void go_to_range();
    /// Reads one packet to ahead_. False at the end.
    bool read_ahead();
    [[nodiscard]] std::optional<Packet> next();
    [[nodiscard]] bool in_range(const Packet& packet) const;
    /// True if nothing of the range follows in the file.
    [[nodiscard]] bool is_past_range(const Packet& packet) const;
    [[nodiscard]] bool is_audio(const Packet& packet) const;
    void add_headers(Packet& packet) const;
    /// Where joined recordings overlap, a packet follows the one before at once, as in ffmpeg.
    void keep_order(Packet& packet);

    MediaSource source_;
    int video_stream_;
    bool copies_video_;
    bool repeats_headers_;
    CopyRange range_;
    std::unique_ptr<Demuxer> demuxer_;
    std::optional<PacketClock> clock_;
    std::deque<Packet> ahead_;  // video packets have their places
    std::optional<Packet> held_;
    std::map<int, std::int64_t> last_dts_;  // of each stream's packets that were written
    bool copied_key_ = false;
    bool ended_ = false;
};

/// transcode() with the codec "copy": the packets of the video and of the sound, from the last key frame at or before
/// the start of the range. The log tells where that is.
[[nodiscard]] TranscodeResult copy_streams(const MediaSource& source, const MediaTarget& target,
                                           const TranscodeOptions& options);

/// Adds what the source says of itself: metadata that `muxing` does not have, and the chapters in the range.
/// `length_seconds`: of the output.
void describe_as_source(MuxerOptions& muxing, const MediaInfo& source, const CopyRange& range, double length_seconds);

/// The streams that an output with this video, and with the sound if `audio`, does not have: "subtitle stream 2
/// (mov_text)"; empty if it has all.
[[nodiscard]] std::string streams_left_out(const MediaInfo& source, int video_stream, bool audio);

}  // namespace tricodec
