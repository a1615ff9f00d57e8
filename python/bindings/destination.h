// SPDX-License-Identifier: Apache-2.0
/// What `out=` takes: memory of the caller's for the core to write a result to.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tricodec/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// The checked view of an array of the caller's. It holds the array's export, so it must be dropped with the
/// interpreter's lock held, after the last write.
struct Destination {
    TensorView view;
    std::shared_ptr<void> held;
};

/// `out` as the place of a result on `device`: a numpy array, or anything that exports writable memory by DLPack (torch
/// tensors), the buffer protocol or __array_interface__, with any strides that keep its elements apart.
/// Raises TypeError for other objects and dtypes, ValueError for another shape or device and for memory that must not
/// be written; the text names what is there and what is needed.
[[nodiscard]] Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                                         const Device& device = {});

/// `out` as a run of exactly `size_bytes` bytes in host memory: any of the above that is C-contiguous, of any shape and
/// element type. The view is uint8 with one axis.
[[nodiscard]] Destination to_byte_destination(const py::object& out, std::int64_t size_bytes);

}  // namespace tricodec::python
