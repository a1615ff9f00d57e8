// SPDX-License-Identifier: Apache-2.0
/// What an encoder of libavcodec is given before it is opened: pictures, fields and options.
#pragma once

#include <string_view>

#include "ffmpeg/encoder_context.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/encode/encoder.h"

namespace tricodec {

/// The format to encode pictures of `source` in: `source` itself, or the accepted format that loses least.
[[nodiscard]] PixelFormat nearest_format(const AVCodec& codec, PixelFormat source);

/// True for codecs that never lose anything.
[[nodiscard]] bool is_lossless(const AVCodec& codec) noexcept;

/// The format of libavutil's in which the encoder gets pictures of `format`.
[[nodiscard]] AVPixelFormat encoder_pixel_format(const AVCodec& codec, PixelFormat format);

/// JPEG has no samples of limited range.
[[nodiscard]] bool needs_full_range(const AVCodec& codec, PixelFormat format) noexcept;

/// `wanted`, or the nearest rate that the encoder has a number for.
[[nodiscard]] Rational encoder_frame_rate(const AVCodec& codec, Rational wanted);

/// libavcodec's own encoders and Xvid take the time base for the length of a frame: a finer one spoils their rate
/// control, and headers of MPEG cannot hold it. They get the number of each frame as its time.
[[nodiscard]] bool counts_frames(const AVCodec& codec) noexcept;

/// Throws Error(invalid_argument) for pictures that `codec` cannot encode, and for rates and numbers that no encoder
/// takes.
void expect_encodable(const AVCodec& codec, const EncoderOptions& options);

/// Of packets and pictures: what the caller chose, else one over the frame rate.
[[nodiscard]] Rational encoder_time_base(const EncoderOptions& options) noexcept;

/// Fills the fields of a codec's context that avcodec_open2() reads.
void set_up_encoder(AVCodecContext& context, const EncoderOptions& options);

/// The options by name that set a constant quality (EncoderOptions::crf) with the encoder of this name.
[[nodiscard]] CodecSettings quality_settings(std::string_view encoder, double crf);

/// The options by name for avcodec_open2(): the caller's, and those that keep the encoder to what Encoder promises.
/// `context` is one of the codec, not open yet.
[[nodiscard]] CodecSettings encoder_settings(const AVCodecContext& context, const EncoderOptions& options);

}  // namespace tricodec
