// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/forward_plan.h"
#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec::image {

/// The definition of docs/transform.md section 10, sample by sample: the oracle of every other engine.
void rgb_to_yuv_ref(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out);

}  // namespace tricodec::image
