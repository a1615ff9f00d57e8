// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tricodec/base/buffer.h"
#include "tricodec/base/device.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// What a buffer for a packed frame needs: its pixels, and room for kernels that load a whole vector at the last
/// sample.
[[nodiscard]] std::size_t packed_buffer_bytes(PixelFormat format, int width, int height);
/// A frame over `buffer`: packed rows, planes that follow one another.
[[nodiscard]] Frame lay_out(PixelFormat format, int width, int height, std::shared_ptr<Buffer> buffer);

/// Copies as many elements as a view of host memory has, which lie side by side, to it in the order of its indices.
void copy_elements(const void* from, const TensorView& out);

/// Copies the planes of a frame to those of another of the same format and size, on the same or another kind of memory,
/// by work on `stream`. The stream's context is current. The call does not wait, nor make the stream wait for the
/// frame. Throws Error(unsupported) for rows from bottom to top.
void copy_planes(const Frame& from, const Frame& to, StreamView stream);

}  // namespace tricodec
