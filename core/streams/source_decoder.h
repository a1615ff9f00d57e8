// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/filter_graph.h"
#include "streams/chunk_buffer.h"
#include "streams/stream_seek.h"
#include "tricodec/streams/stream_reader.h"

namespace tricodec::streams {

/// One output of a reader: its filters, and the chunks that wait for pop_chunks().
class StreamOutput {
public:
    StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index);

    /// Null ends the stream.
    void push(AVFrame* frame);
    /// Takes a frame of tricodec's own decoder. If no filter changes it, its samples are copied on its device. Filters
    /// run in host memory, and their results are copied to the device of the chunks.
    void push(const Frame& frame);
    /// After a seek.
    void reset();
    [[nodiscard]] ChunkBuffer& chunks() noexcept { return chunks_; }
    [[nodiscard]] OutputStream describe() const;
    [[nodiscard]] int source_index() const noexcept { return source_index_; }

private:
    void make_graph(const GraphInput& input);
    void drain();
    [[nodiscard]] RowTimes times(const GraphInput& frames, std::int64_t pts, std::int64_t num_rows);

    std::string description_;
    int source_index_;
    GraphInput input_;
    bool engine_;                         // frames come from tricodec's own decoder
    std::unique_ptr<FilterGraph> graph_;  // null until the first frame of tricodec's own decoder
    ChunkBuffer chunks_;
    std::int64_t stamped_pts_ = 0;  // of the last frame with a time stamp
    std::int64_t rows_since_ = 0;   // number of rows since that frame, included
    std::int64_t end_pts_ = AV_NOPTS_VALUE;
};

/// The decoder of one source stream, shared by the outputs that it feeds.
class SourceDecoder {
public:
    virtual ~SourceDecoder() = default;

    /// Throws Error(invalid_argument) for options that a second output cannot have.
    void expect_compatible(const OutputOptions& options) const;
    /// The frames for the filters of the outputs; with hardware, as the container describes them.
    [[nodiscard]] virtual GraphInput frames() const noexcept = 0;

    void add(StreamOutput* output) { outputs_.push_back(output); }
    /// True if no output is left.
    [[nodiscard]] bool remove(StreamOutput* output);

    /// Called at the end of a stream that was read from its start. Throws Error(corrupt_data) if a video gave no
    /// frame.
    void expect_frames(const std::string& source) const;

    /// Null ends the stream. Throws Error(corrupt_data) for a packet that cannot be decoded; the next call may succeed.
    virtual void send(const AVPacket* packet) = 0;
    /// Called after a seek. The outputs get the frames of `start`.
    virtual void reset(StreamStart start) = 0;

protected:
    SourceDecoder(AVFormatContext& format, AVStream& stream, std::string hw_accel);

    /// The time stamp of the next frame of a video in the stream's time base, or nothing if it is left out. `pts` is
    /// what the codec says. Frames without a time stamp follow one another at the frame rate, as in ffmpeg.
    [[nodiscard]] std::optional<std::int64_t> time_of_next(std::int64_t pts);
    [[nodiscard]] bool is_before_start(std::int64_t pts, AVRational time_base) const noexcept;
    /// True from a seek to a time until arrive().
    [[nodiscard]] bool is_seeking() const noexcept { return start_.from_seconds.has_value(); }
    void arrive() noexcept { start_.from_seconds.reset(); }
    [[nodiscard]] AVRational frame_rate() const noexcept { return frame_rate_; }
    void note_packet() noexcept { has_packets_ = true; }
    void note_frame() noexcept { has_frames_ = true; }
    void start_at(StreamStart start) noexcept;
    [[nodiscard]] AVStream& stream() const noexcept { return stream_; }
    [[nodiscard]] const std::string& hw_accel() const noexcept { return hw_accel_; }
    [[nodiscard]] const std::list<StreamOutput*>& outputs() const noexcept { return outputs_; }

private:
    AVStream& stream_;
    std::string hw_accel_;
    std::list<StreamOutput*> outputs_;
    AVRational frame_rate_;
    StreamStart start_;
    std::size_t num_given_ = 0;     // of the time stamps of start_
    std::int64_t timed_pts_ = 0;    // of the last frame that had a time stamp
    std::int64_t num_untimed_ = 0;  // frames since
    bool has_packets_ = false;
    bool has_frames_ = false;
};

/// The decoder for `options`: libavcodec's, or tricodec's own decoder on `options.hw_accel`. Throws
/// Error(invalid_argument, unsupported, device).
[[nodiscard]] std::unique_ptr<SourceDecoder> make_decoder(AVFormatContext& format, AVStream& stream,
                                                          const OutputOptions& options);

}  // namespace tricodec::streams
