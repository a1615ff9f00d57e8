// SPDX-License-Identifier: Apache-2.0
/// CUDA streams, events and contexts of the caller, as Python libraries pass them.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>

#include "tricodec/base/device.h"

namespace tricodec::python {

namespace py = pybind11;

/// The legacy default stream as the array interfaces write it.
inline constexpr StreamView kLegacyStream{1};

/// None, or a stream: a handle (int), or an object with __cuda_stream__, .cuda_stream (torch), .ptr (CuPy) or .handle
/// (pycuda, Numba). Raises TypeError or ValueError naming what is accepted.
[[nodiscard]] std::optional<StreamView> to_stream(const py::object& value);
/// `input_consumed`: None, or an event: a handle (int), or an object with .cuda_event (torch), .ptr (CuPy) or .handle
/// (Numba). torch makes an event when it is first recorded, so an event without a handle is recorded once. Raises
/// ValueError if `input` is the CPU, TypeError or ValueError naming what is accepted.
[[nodiscard]] std::optional<EventView> to_consumed_event(const py::object& value, const Device& input);
/// None or 0, or a CUDA context: a handle (int), or an object with .handle (pycuda, Numba). Raises TypeError.
[[nodiscard]] std::uintptr_t to_context(const py::object& value);

}  // namespace tricodec::python
