// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tricodec/selection/frame_selection.h"

namespace tricodec {

/// Names of the words that a selection sets, in the order of its fields.
[[nodiscard]] std::vector<std::string> words_of(const FrameSelection& selection);

}  // namespace tricodec
