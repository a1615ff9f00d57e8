// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tricodec/io/media_source.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// Which packets a `Demuxer` gives, and in which form.
struct DemuxerOptions {
    int stream_index = -1;  ///< which stream's packets; -1 is the best stream of `kind`, nothing below is accepted
    /// Video or audio. For audio, files that hold nothing else (mp3, aac, ...) are opened too.
    StreamKind kind = StreamKind::video;
    bool all_streams = false;  ///< packets of every stream, in file order
    /// Rewrite H.264 and HEVC to Annex B with parameter sets before each key frame, and put MPEG-4's and VC-1's headers
    /// in front of the first packet, so that the packets alone make a decodable elementary stream.
    bool annexb = false;
    bool ignore_edit_list = false;
    /// Read and decode as much as it takes to describe every stream in full. Else opening reads what the headers and
    /// the first packet say, and facts of other streams (an audio profile) may stay open.
    bool thorough = false;
    /// Only ends_early() reports a source that ends early, or a video stream without packets. Else the log reports the
    /// first, and read() throws for the second.
    bool silent_end = false;
};

/// A packet as the table of a container lists it, with the numbers that the Packet has.
struct ListedPacket {
    std::int64_t pts = kNoTimestamp;
    std::int64_t dts = kNoTimestamp;
    std::int64_t pos = -1;
    std::int64_t duration = 0;
    std::int64_t size_bytes = 0;
    bool key = false;
    bool discard = false;
    /// Note [Predicted packets]: Cues of Matroska lists key frames: times, and the clusters that they begin. How many
    /// frames lie between two of them is predicted by how long the track says that a frame is shown. Such a packet has
    /// no place yet, and its time may be off by rounding. The key frame has the place of its GOP in the file.
    bool predicted = false;
};

/// A container, or a bare elementary stream, to packets.
/// Thread safety: one object from one thread at a time; different objects are independent.
class Demuxer {
public:
    /// Reads the headers. Throws Error(not_found, io) when the source cannot be read, Error(refused) for containers
    /// that open other files (playlists, concat scripts, images sequences), Error(corrupt_data) when nothing known is
    /// found, Error(invalid_argument) when `stream_index` is no stream of the file.
    [[nodiscard]] static std::unique_ptr<Demuxer> open(const MediaSource& source, const DemuxerOptions& options = {});
    virtual ~Demuxer() = default;

    [[nodiscard]] virtual const MediaInfo& info() const noexcept = 0;
    /// The stream that read() returns packets of.
    [[nodiscard]] virtual const StreamInfo& stream() const noexcept = 0;

    /// The next packet, or nothing at the end. Damaged stretches are skipped as libavformat skips them. Throws
    /// Error(corrupt_data) or, if its samples are in another file, Error(unsupported) where no packet came at all and
    /// stream() is video.
    [[nodiscard]] virtual std::optional<Packet> read() = 0;
    /// After read() has reached the end: the evidence that the source was cut short or is still being written, as text
    /// to follow "it ends early: "; empty if there is none. Less can be found for a source that cannot seek.
    [[nodiscard]] virtual const std::string& ends_early() const noexcept = 0;
    /// Continues at the last key frame at or before `pts` (in stream().time_base), or at the first packet.
    /// Throws Error(unsupported) if the source or its format cannot seek.
    virtual void seek(std::int64_t pts) = 0;
    /// Continues at a byte position that a packet's `pos` gave. Throws as seek().
    virtual void seek_bytes(std::int64_t position) = 0;
    [[nodiscard]] virtual bool seekable() const noexcept = 0;

    /// All packets of stream() in the order in which read() gives them, as the container lists them: no packet is read.
    /// Empty if the container has no such list, or if it lacks a fact; `dts` may be kNoTimestamp.
    /// `predicts`: also by prediction, where that saves a source that fetches ahead from being read whole.
    [[nodiscard]] virtual std::vector<ListedPacket> listed_packets(bool predicts) = 0;
    /// The packets of GOPs that were predicted, as they are; empty if something leaves doubt.
    [[nodiscard]] virtual std::vector<ListedPacket> packets_of(std::span<const ByteRange> gops) = 0;
    /// Bytes that were read from the source so far.
    [[nodiscard]] virtual std::int64_t num_bytes_read() const noexcept = 0;
    /// As the ByteReader's of the source.
    [[nodiscard]] virtual bool fetches_ahead() const = 0;
    virtual void will_read(std::span<const ByteRange> ranges) = 0;
    virtual void will_read_on() = 0;
};

/// Opens, describes and closes.
[[nodiscard]] MediaInfo probe(const MediaSource& source);

}  // namespace tricodec
