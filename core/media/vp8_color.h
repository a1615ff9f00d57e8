// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "media/nal.h"
#include "tricodec/tensor/color.h"

namespace tricodec {

/// The colors of a VP8 key frame and of what follows it. Its header has a bit that decoders take for the range, and
/// nothing else; the matrix is BT.601's by the standard (RFC 6386, 9.2). Nothing for packets that are no key frame.
///
/// Of several threads of libavcodec only the one that decodes the key frame knows the bit.
[[nodiscard]] std::optional<ColorDescription> vp8_color(Bytes packet) noexcept;

}  // namespace tricodec
