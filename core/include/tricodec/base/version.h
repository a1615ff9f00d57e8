// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tricodec {

/// "0.1.0"
[[nodiscard]] const char* version() noexcept;

/// Facts of the build and the libraries in use, one "name: value" a line.
[[nodiscard]] std::string build_info();

}  // namespace tricodec
