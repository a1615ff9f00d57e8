// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/encode/encoder.h"

namespace tricodec {

/// The encoder for these options: NVENC if options.device has it for the codec. Throws Error(unsupported,
/// invalid_argument).
struct EncoderEngine {
    const AVCodec& codec;
    Device device;
};
[[nodiscard]] EncoderEngine find_engine(const EncoderOptions& options);
[[nodiscard]] bool is_nvenc(const AVCodec& codec) noexcept;
/// As the public probe_encoder().
[[nodiscard]] EncoderProbe probe_encoder(const AVCodec& codec, Device device);

/// True if the encoder takes pictures of `format` with an odd width and height, where the last chroma samples have no
/// pair of luma. Encoders say so only when they are opened, which the first call of a codec and a format does.
[[nodiscard]] bool takes_odd_sizes(const AVCodec& codec, PixelFormat format);

/// Encoding by one of libavcodec's encoders, on the CPU or, for those of NVENC, on `device`. Throws
/// Error(invalid_argument) for what the encoder does not take; takes_odd_sizes() leaves it to the encoder.
[[nodiscard]] std::unique_ptr<Encoder> make_av_encoder(const AVCodec& codec, const EncoderOptions& options,
                                                       Device device, bool any_size = false);

}  // namespace tricodec
