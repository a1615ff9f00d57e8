// SPDX-License-Identifier: Apache-2.0
/// A CompressArray as other libraries take one: the buffer protocol, the array interfaces and DLPack. Nothing is
/// copied.
#pragma once

#include <pybind11/pybind11.h>

#include "compress_array.h"

namespace tricodec::python {

/// The slots of Python's buffer protocol. It shows elements on the CPU only.
int get_buffer(PyObject* self, Py_buffer* buffer, int flags);
void release_buffer(PyObject* self, Py_buffer* buffer);

[[nodiscard]] py::tuple to_tuple(const Extents& values);

/// The dict of __cuda_array_interface__ or __array_interface__, version 3.
[[nodiscard]] py::dict interface_of(const CompressArray& array, bool cuda);

/// A DLPack capsule, good for one import; it keeps the array. Raises BufferError for elements without a DLPack type.
[[nodiscard]] py::capsule to_capsule(const ArrayPtr& array);

/// The consumer's stream, an int or None, sees the bytes complete.
void order_for(const CompressArray& array, const py::object& stream);

}  // namespace tricodec::python
