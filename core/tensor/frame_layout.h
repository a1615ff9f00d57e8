// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tricodec/base/buffer.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// What a buffer for a packed frame needs: its pixels, and room for kernels that load a whole vector at the last
/// sample.
[[nodiscard]] std::size_t packed_buffer_bytes(PixelFormat format, int width, int height);
/// A frame over `buffer`: packed rows, planes that follow one another.
[[nodiscard]] Frame lay_out(PixelFormat format, int width, int height, std::shared_ptr<Buffer> buffer);

}  // namespace tricodec
