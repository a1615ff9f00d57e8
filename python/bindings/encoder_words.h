// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "tricodec/encoder.h"

namespace tricodec::python {

namespace py = pybind11;

/// The keyword arguments of Encoder, checked: {"codec": "h264", "frame_rate": 29.97, ...}. What is not named stays.
/// Raises TypeError for a name that is none of them, ValueError for values that are not accepted.
void read_encoder_words(const py::dict& words, EncoderOptions& options);

}  // namespace tricodec::python
