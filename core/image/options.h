// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tricodec/image/transform.h"

namespace tricodec::image {

/// Throws Error naming the option, its value and what is accepted.
void validate(const TransformOptions& options);

/// As parse_output_color() reads it.
[[nodiscard]] std::string_view word(OutputColor color);

/// One line for people; see Transform::describe.
[[nodiscard]] std::string describe(const TransformOptions& options);

}  // namespace tricodec::image
