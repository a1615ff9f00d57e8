// SPDX-License-Identifier: Apache-2.0
/// Frames to numpy arrays and back, by copies.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tricodec/frame.h"

namespace tricodec::python {

namespace py = pybind11;

/// A frame of the host's on a GPU, complete, or complete on `stream`.
[[nodiscard]] Frame uploaded(const Frame& frame, const Device& device, std::optional<StreamView> stream);

/// Why the frame is not one array and what to use instead.
[[nodiscard]] std::string no_single_view(const Frame& frame);

/// A new array, or `out` unless that is None.
[[nodiscard]] py::object to_ndarray(const Frame& frame, const std::optional<std::string>& format,
                                    const py::object& out);
/// numpy's __array__; `self` is the Python object of the frame.
[[nodiscard]] py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy);
[[nodiscard]] Frame frame_from_planes(const py::sequence& planes, const std::string& format, const py::object& color,
                                      int rotation, bool mirrored, std::optional<std::int64_t> pts,
                                      const py::object& time_base);

}  // namespace tricodec::python
