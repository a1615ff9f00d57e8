// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ffmpeg/encoder_context.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/filter_graph.h"
#include "streams/gpu_surfaces.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/streams/stream_writer.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::streams {

/// Turns rows of a chunk into frames, the reverse of ChunkLayout. A frame reuses the memory of the last one if no
/// encoder holds it any more.
class FrameMaker {
public:
    /// Throws Error(invalid_argument) for a format that has no chunks.
    [[nodiscard]] static FrameMaker video(AVPixelFormat format, int width, int height);
    [[nodiscard]] static FrameMaker audio(AVSampleFormat format, int num_channels, int sample_rate);

    /// Throws Error(invalid_argument) that names the expected and the given shape or type.
    void expect(const TensorView& chunk) const;
    /// A frame of rows [from, from + count) of a chunk that expect() accepted; a picture is one row.
    [[nodiscard]] AVFrame* make(const TensorView& chunk, std::int64_t from, std::int64_t count);
    [[nodiscard]] std::string expected_shape() const;

private:
    void fill_picture(const TensorView& picture);
    void fill_packed(const TensorView& picture);
    void fill_planes(const TensorView& picture);
    void fill_samples(const TensorView& chunk, std::int64_t from, std::int64_t count);

    bool video_ = true;
    int format_ = -1;
    DType dtype_ = DType::uint8;
    int width_ = 0;
    int height_ = 0;
    int channels_ = 0;         ///< of a pixel in memory, or of audio
    int needed_channels_ = 0;  ///< of a chunk: one less if a channel is padding
    bool raw_ = false;         ///< 4:2:0: a chunk has the bytes of whole frames, [n, 1, height * 3 / 2, width]
    std::vector<int> planes_;  ///< of each channel of a planar format
    int sample_rate_ = 0;
    ff::FramePtr frame_;
};

using PacketSink = std::function<void(const Packet&)>;

/// One stream of a writer: it turns chunks into frames, filters them and encodes them with libavcodec. (Encoder accepts
/// the formats that tricodec knows and converts them itself; streams accept all of libavcodec's encoders and filters.)
class StreamEncoder {
public:
    StreamEncoder(const AudioInput& input, const std::string& container, bool global_header);
    StreamEncoder(const VideoInput& input, const std::string& container, bool global_header);

    [[nodiscard]] bool video() const noexcept { return video_; }
    /// For Muxer::add_stream().
    [[nodiscard]] const StreamInfo& stream() const noexcept { return stream_; }
    void write(const TensorView& chunk, std::optional<double> seconds, const PacketSink& sink);
    void flush(const PacketSink& sink);

private:
    void configure(const CodecConfig& config, bool global_header);
    void open(const std::map<std::string, std::string>& options);
    void place(std::optional<double> seconds);
    void filter(AVFrame* frame, const PacketSink& sink);
    void encode(const AVFrame* frame, const PacketSink& sink);
    bool receive(const PacketSink& sink);

    bool video_;
    EncoderContext context_;
    FrameMaker maker_;
    std::optional<SurfaceMaker> surfaces_;  // if chunks are in a GPU's memory
    AVRational time_base_{0, 1};            // of the chunks' frames
    std::int64_t next_pts_ = 0;
    bool warned_ = false;
    std::unique_ptr<FilterGraph> graph_;
    StreamInfo stream_;
    bool flushed_ = false;
};

}  // namespace tricodec::streams
