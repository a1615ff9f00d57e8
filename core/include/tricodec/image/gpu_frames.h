// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tricodec/base/stream.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// convert_layout_into(), by work on `stream` for an `out` on a GPU. For a frame of the same format there the call does
/// not wait; other frames take their new layout on the host, in page-locked memory. Throws what convert_layout_into()
/// throws, and Error(device, out_of_memory).
void convert_layout_into(const Frame& frame, const Frame& out, StreamView stream);

}  // namespace tricodec
