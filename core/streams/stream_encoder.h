// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "media/encoder_context.h"
#include "media/ffmpeg.h"
#include "media/filter_graph.h"
#include "streams/frame_maker.h"
#include "streams/gpu_surfaces.h"
#include "tricodec/media/packet.h"
#include "tricodec/media/stream_info.h"
#include "tricodec/streams/stream_writer.h"

namespace tricodec::streams {

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
