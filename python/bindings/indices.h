// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "tricodec/frame_reader.h"

namespace tricodec::python {

/// True for an integer of Python or numpy, which stands for one frame.
[[nodiscard]] bool is_index(const pybind11::handle& value);

/// The integer. Raises TypeError for bool, IndexError beyond 64 bits.
[[nodiscard]] std::int64_t to_index(const pybind11::handle& value);

/// True for a slice of everything in order, `[:]`.
[[nodiscard]] bool is_whole_slice(const pybind11::handle& value);

/// Which frames a slice means, or integers in a list, tuple, range or array, negative ones counted from the end. The
/// result is called without the interpreter's lock.
[[nodiscard]] FrameReader::Select to_frame_numbers(const pybind11::object& value);

}  // namespace tricodec::python
