// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cpu/rgb_kernels.h"
#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec::image {

/// What rgb_to_yuv_ref() makes, by kernels, a row after the other.
void rgb_to_yuv_cpu(const RgbKernels& kernels, const ForwardPlan& plan, const RgbPicture& picture, const Frame& out);

}  // namespace tricodec::image
