// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tricodec/image/transform.h"

namespace tricodec::image {

class PreparedPlan;

/// Throws Error naming the option, its value and what is accepted.
void validate(const TransformOptions& options);

/// One line for people; see Transform::describe.
[[nodiscard]] std::string describe(const TransformOptions& options);

/// What a plan does with the steps that were asked for; see FusionReport.
/// `kernel`: the kernel of a GPU that takes all steps in one launch, or empty for the CPU.
[[nodiscard]] FusionReport explain(const PreparedPlan& prepared, const TransformOptions& options,
                                   const std::string& kernel = {});

}  // namespace tricodec::image
