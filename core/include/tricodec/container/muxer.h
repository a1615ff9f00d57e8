// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tricodec/io/media_target.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

struct MuxerOptions {
    /// libavformat's name of the container ("mp4", "mov", "matroska", "webm", "mpegts", "ivf", "h264", ...; also "mkv"
    /// and "ts"). Empty: by the extension of the target's name.
    std::string format;
    bool fast_start = false;  ///< the index before the samples, so that playing starts while the file still comes (mp4)
    bool fragmented = false;  ///< written strictly in order, a fragment a group of pictures (mp4, mov)
    std::map<std::string, std::string> options;   ///< of the container's muxer, by FFmpeg's names
    std::map<std::string, std::string> metadata;  ///< of the file: "title", "comment", ...
    std::vector<Chapter> chapters{};
};

/// Packets to a container.
///
/// Streams are added first, then packets of all of them written in any interleaving, each stream's in decoding order;
/// then finish(), which gives a file its name. A muxer that is destroyed without it leaves the file as it was.
/// Thread safety: one object from one thread at a time; different objects are independent.
class Muxer {
public:
    /// Opens the target. Throws Error(invalid_argument) for a container that is not known, Error(refused) for one that
    /// opens other files (playlists, image sequences, devices), Error(not_found, io) when the target cannot be written.
    [[nodiscard]] static std::unique_ptr<Muxer> open(const MediaTarget& target, const MuxerOptions& options = {});
    virtual ~Muxer() = default;

    /// A stream as a Demuxer, an Encoder or describe_stream() describes it: `parameters` and `time_base` must be
    /// there. Orientation, color, frame rate, language, title and flags are written where the container has a place for
    /// them. Returns its number. Throws Error(unsupported) if the container does not hold the codec,
    /// Error(invalid_argument) after the first packet.
    virtual int add_stream(const StreamInfo& stream) = 0;
    /// Writes the header, which else the first packet does. Throws errors of the options and the streams.
    virtual void start() = 0;
    /// Rescaled from the packet's time_base, or from that of the stream as it was added. Throws Error(invalid_argument)
    /// for time stamps that the container cannot take, Error(io).
    virtual void write(const Packet& packet, int stream) = 0;
    /// Writes the index and closes the target. A second time does nothing.
    virtual void finish() = 0;

    /// libavformat's name of the container.
    [[nodiscard]] virtual const std::string& format() const noexcept = 0;
    /// True if the container wants the codec's headers beside the packets (EncoderOptions::global_header).
    [[nodiscard]] virtual bool wants_global_headers() const noexcept = 0;
};

/// The container that a file's name asks for, libavformat's name. Throws Error(invalid_argument) if its extension is
/// not known.
[[nodiscard]] std::string container_of(const std::string& name);
/// True if wants_global_headers() of that container.
[[nodiscard]] bool wants_global_headers(const std::string& format);

/// A video stream known by its facts only. `headers` are the codec's out of band (Annex B parameter sets, avcC, an AV1
/// sequence header), or empty.
[[nodiscard]] StreamInfo describe_stream(CodecId codec, int width, int height, Rational time_base,
                                         std::span<const std::byte> headers = {});

}  // namespace tricodec
