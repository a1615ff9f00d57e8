// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace tricodec::python {

void bind_encode_video(pybind11::module_& module);

}  // namespace tricodec::python
