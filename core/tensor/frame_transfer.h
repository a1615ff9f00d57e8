// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tricodec/base/stream.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Copies the planes of a frame to those of another of the same format and size, on the same or another kind of memory,
/// by work on `stream`. The stream's context is current. The call does not wait, nor make the stream wait for the
/// frame. Throws Error(unsupported) for rows from bottom to top.
void copy_planes(const Frame& from, const Frame& to, StreamView stream);

}  // namespace tricodec
