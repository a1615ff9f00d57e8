// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "image/cpu/engine.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {

/// What a plan does with the steps that were asked for; see FusionReport.
[[nodiscard]] FusionReport explain(const PreparedPlan& prepared, const TransformOptions& options);

}  // namespace tricodec::image
