// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tricodec/transform.h"

namespace tricodec::image {

/// Throws Error naming the option, its value and what is accepted.
void validate(const TransformOptions& options);

/// One line for people; see Transform::describe.
[[nodiscard]] std::string describe(const TransformOptions& options);

}  // namespace tricodec::image
