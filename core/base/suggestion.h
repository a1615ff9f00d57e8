// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tricodec/base/text.h"

namespace tricodec {

/// The accepted name that a misspelled one most likely means, in any case; empty if none is near.
[[nodiscard]] std::string nearest_word(std::string_view word, std::span<const std::string> accepted);

/// "; did you mean 'bilinear'?" for the end of an error, or nothing. `accepted` is the list in that error. Its names
/// have commas, spaces or quotation marks between them.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::string_view accepted);

}  // namespace tricodec
