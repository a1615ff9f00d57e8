// SPDX-License-Identifier: Apache-2.0
/// Chooses libavcodec's encoders, and the formats and rates that they are opened with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ffmpeg/ffmpeg.h"

namespace tricodec {

/// The container called `name` (libavformat's names, "mkv" and "ts"), or null.
[[nodiscard]] const AVOutputFormat* find_container(const std::string& name) noexcept;
/// True if a container can hold a codec. Muxers without a table report it when they are opened.
[[nodiscard]] bool holds(const AVOutputFormat& format, AVCodecID codec) noexcept;
/// The best software encoder of a codec in this FFmpeg, or null.
[[nodiscard]] const AVCodec* find_encoder(AVCodecID id) noexcept;
/// The encoder called `name`, or a container's own choice where it is empty. Throws Error(invalid_argument).
[[nodiscard]] const AVCodec& choose_encoder(const std::string& name, AVMediaType type, const std::string& container);

/// What an encoder accepts; nothing if it does not say.
[[nodiscard]] std::vector<AVPixelFormat> encoder_formats(const AVCodec& codec);
[[nodiscard]] std::vector<AVRational> encoder_frame_rates(const AVCodec& codec);
[[nodiscard]] std::vector<AVSampleFormat> encoder_sample_formats(const AVCodec& codec);
[[nodiscard]] std::vector<int> encoder_sample_rates(const AVCodec& codec);
[[nodiscard]] std::vector<int> encoder_channel_counts(const AVCodec& codec);

/// The value to encode a stream with. A value that the caller asks for must be accepted by the encoder; otherwise
/// Error(invalid_argument) lists the accepted ones. By default it is the input's value, or the nearest accepted one.
[[nodiscard]] AVPixelFormat choose_pixel_format(const AVCodec& codec, const std::string& asked, AVPixelFormat input);
[[nodiscard]] AVRational choose_frame_rate(const AVCodec& codec, double asked, AVRational input);
[[nodiscard]] AVSampleFormat choose_sample_format(const AVCodec& codec, const std::string& asked, AVSampleFormat input);
[[nodiscard]] int choose_sample_rate(const AVCodec& codec, int asked, int input);
[[nodiscard]] int choose_channels(const AVCodec& codec, int asked, int input);

[[nodiscard]] AVPixelFormat parse_pixel_format(const std::string& name, const char* what);
[[nodiscard]] AVSampleFormat parse_sample_format(const std::string& name, const char* what);
/// Frames a second as an exact fraction: 30000/1001 and 5000/167 survive.
[[nodiscard]] AVRational parse_frame_rate(double rate, const char* what);

/// Throws Error(invalid_argument) for pictures that are not encoded: empty ones, or past the limits.
void expect_encodable(int width, int height);
/// Throws Error(invalid_argument) for a number of bits a second that encoders do not accept; `what` names it.
void expect_rate(std::int64_t bits, const char* what);

}  // namespace tricodec
