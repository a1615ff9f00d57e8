// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tricodec/decode/decoder.h"

namespace tricodec {
/// Decoding on the CPU by libavcodec. `stream.parameters` may be null when the packets carry their own headers.
[[nodiscard]] std::unique_ptr<Decoder> make_av_decoder(const StreamInfo& stream, const DecoderOptions& options);
}  // namespace tricodec
