// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ffmpeg/decoder_context.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/io/media_source.h"
#include "tricodec/io/packet.h"

namespace tricodec {

/// The damage of a stream that may be decoded several times: one report a packet, whichever reading met it.
class PacketIssues {
public:
    /// False if the packet is known.
    bool add(DecodeIssue issue);
    [[nodiscard]] const std::vector<DecodeIssue>& kept() const noexcept { return kept_; }
    [[nodiscard]] std::int64_t num_packets() const noexcept { return num_packets_; }

private:
    std::vector<DecodeIssue> kept_;
    std::set<std::pair<std::int64_t, std::int64_t>> known_;  // (position, time) of those kept
    std::int64_t num_packets_ = 0;
};

/// The decoded frames of one audio stream, in order. Packets that cannot be decoded are left out, as the ffmpeg program
/// does, and reported.
class AudioFrames {
public:
    /// Throws as Demuxer::open() and Decoder::create().
    AudioFrames(MediaSource source, DemuxerOptions options);

    [[nodiscard]] const MediaInfo& info() const noexcept { return info_; }
    [[nodiscard]] const StreamInfo& stream() const noexcept { return stream_; }
    [[nodiscard]] bool seekable() const noexcept { return demuxer_ != nullptr && demuxer_->seekable(); }

    /// The next frame, valid until the next call; null at the end. Its pts is in the stream's time base.
    [[nodiscard]] const AVFrame* next();
    /// Goes back to the first frame by opening the source again, so that priming is what it was.
    void restart();
    /// Goes to a packet at or before a time stamp. False if it cannot; restart() is then needed.
    [[nodiscard]] bool seek(std::int64_t pts);

    /// With the report of a source that ends early as the last one.
    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    [[nodiscard]] std::int64_t num_damaged_packets() const noexcept;

private:
    void send_next();
    void report(int code);
    void note_end();

    MediaSource source_;
    DemuxerOptions options_;
    std::unique_ptr<Demuxer> demuxer_;
    MediaInfo info_;
    StreamInfo stream_;
    std::optional<DecoderContext> decoder_;
    ff::PacketPtr packet_;
    ff::FramePtr frame_;
    Packet last_;              // that was sent
    std::int64_t number_ = 0;  // of the next packet, -1 after a seek
    bool ended_ = false;       // the decoder has all packets
    std::string ends_early_;
    PacketIssues issues_;
};

}  // namespace tricodec
