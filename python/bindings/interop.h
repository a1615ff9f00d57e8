// SPDX-License-Identifier: Apache-2.0
/// How memory of the core looks to other libraries: buffer protocol, __array_interface__, __cuda_array_interface__,
/// DLPack. Nothing is copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tricodec/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// Memory that `owner` keeps valid. In host memory frames and planes export it read-only: decoders predict from it.
struct ArrayView {
    TensorView view;
    std::shared_ptr<const void> owner;
    std::shared_ptr<Buffer> buffer{};  ///< on a GPU, what knows of the work on the memory

    [[nodiscard]] bool on_gpu() const noexcept { return view.device.kind == Device::Kind::cuda; }
};

/// What may be said of memory on a GPU where somebody takes it for host memory.
[[nodiscard]] std::string not_in_host_memory(const TensorView& view);

/// bf_getbuffer for a read-only view; returns 0, or -1 with BufferError set.
int fill_buffer(PyObject* exporter, Py_buffer* buffer, int flags, const TensorView& view) noexcept;
void free_buffer(PyObject* exporter, Py_buffer* buffer) noexcept;

/// The dict of numpy's array interface, version 3, read-only.
[[nodiscard]] py::dict array_interface(const TensorView& view);

/// The dict of the CUDA array interface, version 3. The legacy default stream, which it names, waits for the bytes.
/// Raises AttributeError for host memory, and for bfloat16, of which the interface knows nothing.
[[nodiscard]] py::dict cuda_array_interface(const ArrayView& array);

/// __dlpack__ as the array API standard (2023.12) words it. Raises BufferError where the request cannot be met.
[[nodiscard]] py::capsule export_dlpack(const ArrayView& array, const py::object& stream, const py::object& max_version,
                                        const py::object& dl_device, const py::object& copy);
[[nodiscard]] py::tuple dlpack_device(const TensorView& view);
/// The same for memory on a GPU, which `stream` (as the standard numbers them) sees complete.
[[nodiscard]] py::capsule export_gpu_dlpack(const ArrayView& array, const py::object& stream, bool versioned,
                                            const py::object& dl_device, const py::object& copy);
/// A capsule over memory that the array's owner keeps. `flags` are those of a versioned capsule.
[[nodiscard]] py::capsule make_dlpack_capsule(const ArrayView& array, bool versioned, std::uint64_t flags);

/// An array of the bits of bfloat16 numbers, uint16, as a DLPack capsule of that type, which numpy cannot make.
[[nodiscard]] py::capsule export_bfloat16(const py::array& bits);

/// A new C-contiguous tensor with the same elements.
[[nodiscard]] Tensor copy_of(const TensorView& view);

/// A numpy array over a tensor's own memory, writable.
[[nodiscard]] py::array to_numpy(const Tensor& tensor);
/// The same, or a DeviceArray over a tensor on a GPU.
[[nodiscard]] py::object to_array(Tensor tensor);
/// A DeviceArray over memory on a GPU.
[[nodiscard]] py::object to_device_array(ArrayView array);
[[nodiscard]] py::tuple to_tuple(const std::vector<std::int64_t>& values);
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
