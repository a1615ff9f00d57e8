// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "media/ffmpeg.h"
#include "streams/stream_output.h"
#include "streams/stream_seek.h"
#include "tricodec/streams/stream_reader.h"

namespace tricodec::streams {

/// The decoder of one source stream, shared by the outputs that it feeds.
class SourceDecoder {
public:
    virtual ~SourceDecoder() = default;
    SourceDecoder(const SourceDecoder&) = delete;
    SourceDecoder& operator=(const SourceDecoder&) = delete;

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
