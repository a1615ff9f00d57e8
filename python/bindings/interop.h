// SPDX-License-Identifier: Apache-2.0
/// How memory of the core looks to other libraries: buffer protocol, __array_interface__, DLPack. Nothing is copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>

#include "tricodec/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// Memory that `owner` keeps valid. Frames and planes export it read-only.
struct ArrayView {
    TensorView view;
    std::shared_ptr<const void> owner;
};

/// bf_getbuffer for a read-only view; returns 0, or -1 with BufferError set.
int fill_buffer(PyObject* exporter, Py_buffer* buffer, int flags, const TensorView& view) noexcept;
void free_buffer(PyObject* exporter, Py_buffer* buffer) noexcept;

/// The dict of numpy's array interface, version 3, read-only.
[[nodiscard]] py::dict array_interface(const TensorView& view);

/// __dlpack__ as the array API standard (2023.12) words it. Raises BufferError where the request cannot be met.
[[nodiscard]] py::capsule export_dlpack(const ArrayView& array, const py::object& stream, const py::object& max_version,
                                        const py::object& dl_device, const py::object& copy);
[[nodiscard]] py::tuple dlpack_device(const TensorView& view);

/// An array of the bits of bfloat16 numbers, uint16, as a DLPack capsule of that type, which numpy cannot make.
[[nodiscard]] py::capsule export_bfloat16(const py::array& bits);

/// A new C-contiguous tensor with the same elements.
[[nodiscard]] Tensor copy_of(const TensorView& view);

/// A numpy array over a tensor's own memory, writable.
[[nodiscard]] py::array to_numpy(const Tensor& tensor);
/// A read-only numpy array over memory that `base` (an exporter) keeps valid.
[[nodiscard]] py::array view_as_numpy(const TensorView& view, const py::object& base);

template <class Class, int (*GetBuffer)(PyObject*, Py_buffer*, int)>
py::custom_type_setup buffer_protocol() {
    return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
        heap_type->as_buffer.bf_getbuffer = GetBuffer;
        heap_type->as_buffer.bf_releasebuffer = free_buffer;
        heap_type->ht_type.tp_as_buffer = &heap_type->as_buffer;
    });
}

}  // namespace tricodec::python
