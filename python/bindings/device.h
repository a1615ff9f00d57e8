// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tricodec::python {

/// The device that a request means here. Frames on a GPU have no Python arrays yet: "auto" is the CPU, and a GPU that
/// is demanded and there is Error(unsupported).
[[nodiscard]] std::string host_device(const std::string& request);

}  // namespace tricodec::python
