// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cpu/cpu_plan.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

/// transform_ref with the kernels of one instruction set: the same bytes. Works in a few rows of memory.
void transform_cpu(const CpuPlan& plan, const Frame& frame, const TensorView& out, int begin, int end);

}  // namespace tricodec::image
