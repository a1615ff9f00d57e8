// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "io/chunk_buffer.h"
#include "io/filter_graph.h"
#include "io/hw_device.h"
#include "media/ffmpeg.h"
#include "tricodec/stream_reader.h"

namespace tricodec::io {

/// One output of a reader: filters, and the chunks that wait to be popped.
class StreamOutput {
public:
    StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index);

    /// Null ends the stream.
    void push(AVFrame* frame);
    /// After a seek.
    void reset();
    [[nodiscard]] ChunkBuffer& chunks() noexcept { return chunks_; }
    [[nodiscard]] OutputStream describe() const;
    [[nodiscard]] int source_index() const noexcept { return source_index_; }

private:
    void make_graph(const GraphInput& input);
    void drain();

    std::string description_;
    int source_index_;
    GraphInput input_;
    bool hardware_;
    std::unique_ptr<FilterGraph> graph_;  // null until the first frame of a GPU, whose format it must know
    ChunkBuffer chunks_;
    double next_seconds_ = 0;  // for frames without a time stamp
    std::int64_t end_pts_ = AV_NOPTS_VALUE;
};

/// The decoder of one source stream, shared by the outputs that it feeds.
class StreamDecoder {
public:
    StreamDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options);

    /// What a second output may not ask for. Throws Error(invalid_argument).
    void expect_compatible(const OutputOptions& options) const;
    [[nodiscard]] GraphInput frames() const noexcept;

    void add(StreamOutput* output) { outputs_.push_back(output); }
    /// True if nobody is left.
    bool remove(StreamOutput* output);

    /// Null ends the stream. Throws Error(corrupt_data) for a packet that cannot be decoded; the next one may be.
    void send(const AVPacket* packet);
    /// After a seek; frames before `keep_from_us` are not given to the outputs.
    void reset(std::optional<std::int64_t> keep_from_us);

private:
    void receive();
    void download();

    AVStream& stream_;
    std::string hw_accel_;
    AVRational frame_rate_{0, 1};
    BufferRef device_;
    ff::CodecContextPtr context_;
    ff::FramePtr frame_;
    std::list<StreamOutput*> outputs_;
    std::optional<std::int64_t> keep_from_us_;
};

}  // namespace tricodec::io
