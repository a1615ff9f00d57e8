// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/io/media_source.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// A stream as the container describes it.
struct SourceStream {
    std::string media_type;  ///< "video", "audio", "subtitle", "data", "attachment" or "unknown"
    std::string codec;       ///< FFmpeg's name, or "none"
    std::string codec_long_name;
    std::map<std::string, std::string> metadata;
    // Video and audio only:
    std::optional<std::string> format;  ///< pixel or sample format
    std::optional<std::int64_t> bit_rate;
    std::optional<std::int64_t> num_frames;  ///< as the container states it
    std::optional<int> bits_per_sample;
    int width = 0;
    int height = 0;
    double frame_rate = 0;  ///< lowest rate that represents every time stamp (r_frame_rate)
    int sample_rate = 0;
    int num_channels = 0;
};

/// The frames of an output after its filters.
struct OutputStream {
    int source_index = 0;
    std::string filter_description;
    std::string media_type;  ///< "video" or "audio"
    std::string format;
    int width = 0;
    int height = 0;
    double frame_rate = 0;
    int sample_rate = 0;
    int num_channels = 0;
};

/// Consecutive frames. Video is [frames, channels, height, width], a permuted view of interleaved formats; audio
/// is [frames, channels].
struct StreamChunk {
    Tensor data;
    double pts_seconds = 0;  ///< of the first frame
};

/// How a `StreamReader` opens its source.
struct StreamReaderOptions {
    std::string format;                         ///< demuxer or device; empty: found from the bytes
    std::map<std::string, std::string> option;  ///< of the demuxer
    int buffer_size = 4096;                     ///< bytes asked of a reader object at a time
    std::vector<std::string> protocols;         ///< that open() of a URL may use; none by default
};

/// The chunks that a `StreamReader` makes of a stream.
struct OutputOptions {
    std::int64_t frames_per_chunk = 1;   ///< -1: all frames that are there when chunks are popped
    std::int64_t buffer_chunk_size = 3;  ///< newest chunks that are kept, -1: all
    int stream_index = -1;               ///< -1: the best of the kind
    std::string decoder;                 ///< FFmpeg's name; empty takes the codec's default
    /// Of the decoder; `threads` is "1" unless it is given. None where another output has opened the decoder.
    std::optional<std::map<std::string, std::string>> decoder_option;
    std::string filter_description;  ///< FFmpeg's, one input and one output; empty changes nothing
    /// "cuda" or "cuda:N": a GPU decodes, and chunks are in its memory. "cpu": tricodec's own decoders for the CPU do.
    /// Empty: libavcodec's do, as FFmpeg uses them.
    std::string hw_accel;
};

enum class SeekMode : std::uint8_t { key, any, precise };

/// Pushes packets of a source through decoders and filter graphs into chunks of audio and video frames.
/// Thread safety: one object from one thread at a time; different objects are independent.
class StreamReader {
public:
    enum class Status : std::uint8_t { more, end, again };

    /// A file, bytes or a reader, read by our own byte reader only. Throws Error(not_found, io, refused, corrupt_data);
    /// Error(invalid_argument) names unknown formats and options.
    [[nodiscard]] static std::unique_ptr<StreamReader> open(const MediaSource& source,
                                                            const StreamReaderOptions& options = {});
    /// Opens what only libavformat can open: a device or filter source (`options.format`), or a URL with one of
    /// `options.protocols`. Throws Error(refused) for anything else.
    [[nodiscard]] static std::unique_ptr<StreamReader> open(const std::string& url, const StreamReaderOptions& options);
    /// True if `format` names a device (or "lavfi"). Sources of devices are not files.
    [[nodiscard]] static bool is_device(const std::string& format);
    virtual ~StreamReader() = default;

    [[nodiscard]] virtual int num_source_streams() const noexcept = 0;
    [[nodiscard]] virtual int num_output_streams() const noexcept = 0;
    /// The best stream of the kind, or -1.
    [[nodiscard]] virtual int default_audio_stream() const noexcept = 0;
    [[nodiscard]] virtual int default_video_stream() const noexcept = 0;
    [[nodiscard]] virtual std::map<std::string, std::string> metadata() const = 0;
    /// Throw Error(out_of_range) if there is no such stream.
    [[nodiscard]] virtual SourceStream source_stream(int index) const = 0;
    [[nodiscard]] virtual OutputStream output_stream(int index) const = 0;

    /// Throw Error(invalid_argument) for options that are not accepted, Error(unsupported) without a decoder or filter,
    /// Error(device) if `hw_accel` is not available.
    virtual void add_audio_stream(const OutputOptions& options) = 0;
    virtual void add_video_stream(const OutputOptions& options) = 0;
    /// Later outputs move down by one.
    virtual void remove_stream(int index) = 0;

    /// Goes to a time and drops buffered frames. Throws Error(unsupported) if the source cannot seek.
    virtual void seek(double seconds, SeekMode mode) = 0;
    /// Reads one packet, decodes and filters it. `again`: a device has nothing yet. `end`: all is decoded and drained.
    virtual Status process_packet() = 0;
    /// Whether each output has a full chunk, or at least a frame where chunks have no size.
    [[nodiscard]] virtual bool is_buffer_ready() const noexcept = 0;
    /// The oldest chunk of each output, in order; nothing where one is empty.
    [[nodiscard]] virtual std::vector<std::optional<StreamChunk>> pop_chunks() = 0;
};

}  // namespace tricodec
