// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tricodec/io/media_target.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// Fields that every encoder of libavcodec has.
struct CodecConfig {
    std::int64_t bit_rate = -1;  ///< bits per second; -1: the encoder's default, here and below
    int compression_level = -1;
    std::optional<double> qscale;  ///< a fixed quality, for encoders that have one (mpeg4, mjpeg, libmp3lame, ...)
    int gop_size = -1;
    int max_b_frames = -1;
};

/// The sound that a stream of a `StreamWriter` takes, and how it is encoded.
struct AudioInput {
    int sample_rate = 0;
    int num_channels = 0;
    std::string format = "flt";  ///< of the chunks: u8, s16, s32, s64, flt, dbl
    std::string encoder;         ///< FFmpeg's name; empty takes the container's
    /// Of the encoder; `threads` is "1" unless it is given.
    std::map<std::string, std::string> encoder_option;
    int encoder_sample_rate = 0;   ///< 0: that of the chunks, or what the encoder takes that is nearest to it
    int encoder_num_channels = 0;  ///< 0: likewise
    std::string encoder_format;    ///< empty: the first that the encoder takes
    CodecConfig codec_config;
    std::string filter_description;  ///< applied first
};

/// The pictures that a stream of a `StreamWriter` takes, and how they are encoded.
struct VideoInput {
    double frame_rate = 0;
    int width = 0;
    int height = 0;
    std::string format = "rgb24";  ///< of the chunks, FFmpeg's name: rgb24, bgr24, gray8, yuv444p, rgb0, rgba, ...
    std::string encoder;
    std::map<std::string, std::string> encoder_option;
    double encoder_frame_rate = 0;  ///< 0: that of the chunks, or the first that the encoder takes
    int encoder_width = 0;          ///< 0: that of the chunks
    int encoder_height = 0;
    std::string encoder_format;  ///< empty: the first that the encoder takes
    CodecConfig codec_config;
    std::string filter_description;
    std::string hw_accel;  ///< "cuda" or "cuda:N": chunks are in that GPU's memory
};

/// Chunks of audio and video frames through filter graphs and encoders to a container.
///
/// Streams are added, then open() writes the header, then chunks are written to any of them, then flush() and close().
/// Thread safety: one object from one thread at a time; different objects are independent.
class StreamWriter {
public:
    /// `format` is the container's name; empty takes the target's extension. Throws Error(invalid_argument) for one
    /// that is not known, Error(refused) for one that opens files by itself.
    [[nodiscard]] static std::unique_ptr<StreamWriter> create(const MediaTarget& target, const std::string& format);
    virtual ~StreamWriter() = default;

    /// Throw Error(invalid_argument) that names the value and the accepted ones, Error(unsupported) with libavcodec's
    /// message if an encoder cannot be opened, Error(device) without the GPU.
    virtual void add_audio_stream(const AudioInput& input) = 0;
    virtual void add_video_stream(const VideoInput& input) = 0;
    /// Replaces the tags of the file. To be called before open().
    virtual void set_metadata(const std::map<std::string, std::string>& metadata) = 0;
    /// Opens the target and writes the header, with options of the muxer. A second time does nothing.
    virtual void open(const std::map<std::string, std::string>& options = {}) = 0;

    /// [frames, channels] of the stream's format; `seconds` is the time of the first one, else they follow the last.
    virtual void write_audio_chunk(int stream, const TensorView& chunk, std::optional<double> seconds = {}) = 0;
    /// [frames, channels, height, width] of the stream's format and size, on its device.
    virtual void write_video_chunk(int stream, const TensorView& chunk, std::optional<double> seconds = {}) = 0;
    /// Drains filters and encoders; nothing can be written afterwards.
    virtual void flush() = 0;
    /// Writes the trailer of an open target, which gives a file its name. A second time does nothing.
    virtual void close() = 0;
    /// Closes an open target without finishing it, as the destructor does. A file with its name stays unchanged.
    virtual void discard() noexcept = 0;
};

}  // namespace tricodec
