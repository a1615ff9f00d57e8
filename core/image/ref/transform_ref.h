// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/plan.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

/// The oracle: docs/transform.md in plain scalar C++. Every other engine gives these bytes.
/// `frame` has the plan's geometry and its planes in host memory; `out` has the plan's shape and dtype, any strides.
/// Makes the rows [begin, end) of the plan's grid.
void transform_ref(const Plan& plan, const Frame& frame, const TensorView& out, int begin, int end);

}  // namespace tricodec::image
