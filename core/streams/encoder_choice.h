// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "media/ffmpeg.h"

namespace tricodec::streams {

/// The encoder called `name`, or a container's own choice where it is empty. Throws Error(invalid_argument).
[[nodiscard]] const AVCodec& find_encoder(const std::string& name, AVMediaType type, const std::string& container);

/// What a stream is encoded as: what is asked for, which the encoder must take (Error(invalid_argument) lists what it
/// takes), else what the chunks have where it takes that, else what it takes that is nearest.
[[nodiscard]] AVPixelFormat choose_pixel_format(const AVCodec& codec, const std::string& asked, AVPixelFormat input);
[[nodiscard]] AVRational choose_frame_rate(const AVCodec& codec, double asked, AVRational input);
[[nodiscard]] AVSampleFormat choose_sample_format(const AVCodec& codec, const std::string& asked, AVSampleFormat input);
[[nodiscard]] int choose_sample_rate(const AVCodec& codec, int asked, int input);
[[nodiscard]] int choose_channels(const AVCodec& codec, int asked, int input);

[[nodiscard]] AVPixelFormat parse_pixel_format(const std::string& name, const char* what);
[[nodiscard]] AVSampleFormat parse_sample_format(const std::string& name, const char* what);
/// frames a second as an exact fraction: 30000/1001 and 5000/167 survive.
[[nodiscard]] AVRational parse_frame_rate(double rate, const char* what);

}  // namespace tricodec::streams
