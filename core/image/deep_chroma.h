// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/forward_plan.h"
#include "tricodec/tensor/frame.h"

namespace tricodec::image {

/// Planar 4:4:4 of more than 8 bits to `out`, of the same depth and fewer chroma samples, by a plan of
/// make_chroma_plan(). docs/transform.md section 10 has the arithmetic.
void subsample_deep_chroma(const ForwardPlan& plan, const Frame& frame, const Frame& out);

}  // namespace tricodec::image
