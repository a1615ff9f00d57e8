// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tricodec/frame.h"
#include "tricodec/transform.h"

namespace tricodec {

/// True if the frame comes out of the transform in the shape of its place.
[[nodiscard]] bool is_alike(const Frame& frame, const Transform& transform, const TensorView& place);
/// What to say of one that does not.
[[nodiscard]] std::string unlike_the_others(const Frame& frame, const TensorView& place);
/// Throws Error(unsupported) if it does not.
void expect_alike(const Frame& frame, const Transform& transform, const TensorView& place);

}  // namespace tricodec
