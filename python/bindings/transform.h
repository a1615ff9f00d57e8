// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "tricodec/transform.h"

namespace tricodec::python {

/// tricodec.Transform(**options). Raises TypeError for words that it does not know.
[[nodiscard]] std::shared_ptr<Transform> make_transform(const pybind11::kwargs& options);

}  // namespace tricodec::python
