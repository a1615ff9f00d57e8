// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "media/ffmpeg.h"
#include "streams/stream_output.h"
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
    /// Called after a seek. The outputs get no frames before `keep_from_us`.
    virtual void reset(std::optional<std::int64_t> keep_from_us) = 0;

protected:
    SourceDecoder(AVStream& stream, std::string hw_accel) : stream_(stream), hw_accel_(std::move(hw_accel)) {}

    [[nodiscard]] bool before_start(std::int64_t pts) const noexcept;
    void note_packet() noexcept { has_packets_ = true; }
    void note_frame() noexcept { has_frames_ = true; }
    void keep_from(std::optional<std::int64_t> time_us) noexcept { keep_from_us_ = time_us; }
    [[nodiscard]] AVStream& stream() const noexcept { return stream_; }
    [[nodiscard]] const std::string& hw_accel() const noexcept { return hw_accel_; }
    [[nodiscard]] const std::list<StreamOutput*>& outputs() const noexcept { return outputs_; }

private:
    AVStream& stream_;
    std::string hw_accel_;
    std::list<StreamOutput*> outputs_;
    std::optional<std::int64_t> keep_from_us_;
    bool has_packets_ = false;
    bool has_frames_ = false;
};

/// The decoder for `options`: libavcodec's, or tricodec's own decoder on `options.hw_accel`. Throws
/// Error(invalid_argument, unsupported, device).
[[nodiscard]] std::unique_ptr<SourceDecoder> make_decoder(AVFormatContext& format, AVStream& stream,
                                                          const OutputOptions& options);

}  // namespace tricodec::streams
