// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "media/ffmpeg.h"
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

/// Encoding by one of libavcodec's encoders, on the CPU or, for those of NVENC, on `device`.
[[nodiscard]] std::unique_ptr<Encoder> make_av_encoder(const AVCodec& codec, const EncoderOptions& options,
                                                       Device device);

}  // namespace tricodec
