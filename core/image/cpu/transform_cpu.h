// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cpu/kernels.h"
#include "image/plan.h"
#include "tricodec/frame.h"
#include "tricodec/tensor.h"

namespace tricodec::image {

/// transform_ref with the kernels of one instruction set: the same bytes. Works row by row in a few rows of memory.
/// Outputs whose columns are not side by side (mirrored, turned, strided) are computed so and stored one by one.
void transform_cpu(const Kernels& kernels, const Plan& plan, const Frame& frame, const TensorView& out);

}  // namespace tricodec::image
