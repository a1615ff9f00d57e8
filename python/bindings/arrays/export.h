// SPDX-License-Identifier: Apache-2.0
/// Arrays as other libraries take them, without a copy: the buffer protocol, DLPack, __array_interface__,
/// __cuda_array_interface__ and numpy.
#pragma once

#include "arrays/array_view.h"
#include "arrays/cuda_streams.h"
#include "gil.h"

namespace tricodec::python {

/// Slots of the buffer protocol. fill_buffer() returns 0, or -1 with a BufferError set.
int fill_buffer(PyObject* exporter, Py_buffer* buffer, int flags, const ArrayView& array) noexcept;
void free_buffer(PyObject* exporter, Py_buffer* buffer) noexcept;

/// A class with the buffer protocol.
template <int (*GetBuffer)(PyObject*, Py_buffer*, int)>
py::custom_type_setup buffer_protocol() {
    return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
        heap_type->as_buffer.bf_getbuffer = GetBuffer;
        heap_type->as_buffer.bf_releasebuffer = free_buffer;
        heap_type->ht_type.tp_as_buffer = &heap_type->as_buffer;
    });
}

/// The dicts of numpy's array interface and of the CUDA array interface, version 3. They raise AttributeError, which
/// makes hasattr() false, for memory elsewhere and for bfloat16, which the interfaces do not have.
[[nodiscard]] py::dict array_interface(const ArrayView& array);
/// Without a stream of its own the array is complete for the legacy default stream, which the dict names.
[[nodiscard]] py::dict cuda_array_interface(const ArrayView& array);
/// Either dict, of memory anywhere.
[[nodiscard]] py::dict describe_interface(const ArrayView& array);

/// __dlpack__ of the array API standard (2023.12). Raises BufferError for a request that cannot be met.
[[nodiscard]] py::capsule to_dlpack(const ArrayView& array, const py::object& stream, const py::object& max_version,
                                    const py::object& dl_device, const py::object& copy);
[[nodiscard]] py::tuple dlpack_device(const Device& device);

/// numpy's __array__. `self` is the Python object of the array. Raises TypeError for memory on a GPU.
[[nodiscard]] py::object to_numpy_array(const ArrayView& array, const py::object& self, const py::object& dtype,
                                        const py::object& copy);
/// A numpy array over the array's own memory, or for an array on a GPU a DeviceArray.
[[nodiscard]] py::array to_numpy(ArrayView array);
[[nodiscard]] py::array to_numpy(Tensor tensor);
[[nodiscard]] py::object to_array(Tensor tensor);
[[nodiscard]] py::object to_device_array(ArrayView array);

inline constexpr const char* kDlpackDoc =
    R"(Export as a DLPack capsule for ``from_dlpack``, as the array API standard defines it.

Args:
    stream: None or -1 on the CPU. On a GPU the consumer's stream, which waits for the elements: None or 1 is the
        legacy default stream, 2 the per-thread one, other numbers are handles; -1 asks for no order.
    max_version: (major, minor) that the consumer understands. From (1, 0) on the capsule is versioned and marks
        read-only memory. An unversioned capsule cannot carry the mark: do not write through it.
    dl_device: (device_type, device_id) wanted: None, the array's own device, or (1, 0), which copies from a GPU.
    copy: True exports a copy, which may be written; None and False share the memory.
Raises:
    BufferError: if another device is wanted, or the elements have no DLPack type.
    ValueError: for a stream on the CPU, stream 0, or an object that is not a stream.)";

/// What hasattr() and numpy need where an array cannot be exported as one.
template <class Make>
py::dict or_attribute_error(Make make) {
    try {
        return make();
    } catch (const py::buffer_error& error) {
        throw py::attribute_error(error.what());
    }
}

/// Members of all classes that export an array. `view_of(object)` is the array, or raises BufferError.
template <class Class, class ViewOf>
void def_exchange(Class& cls, ViewOf view_of) {
    using T = typename Class::type;
    cls.def_property_readonly(
           "device", [](const T& self) { return self.device.to_string(); },
           "Where the elements are: \"cpu\" or \"cuda:N\".")
        .def_property_readonly(
            "__cuda_array_interface__",
            [view_of](const T& self) {
                return or_attribute_error([&] { return cuda_array_interface(view_of(self)); });
            },
            "The CUDA array interface, version 3; only on a GPU.")
        .def(
            "__dlpack_device__", [](const T& self) { return dlpack_device(self.device); },
            "(device_type, device_id): (1, 0) on the CPU, (2, N) on GPU N.")
        .def(
            "__dlpack__",
            [view_of](const T& self, const py::object& stream, const py::object& max_version,
                      const py::object& dl_device, const py::object& copy) {
                return to_dlpack(view_of(self), stream, max_version, dl_device, copy);
            },
            py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
            py::arg("dl_device") = py::none(), py::arg("copy") = py::none(), kDlpackDoc);
}

/// Members of the classes of memory that work on a GPU may still be writing.
template <class Class>
void def_waiting(Class& cls) {
    using T = typename Class::type;
    cls.def(
           "wait",
           [](const T& self) {
               const Unlocked unlocked;
               if (self.buffer) self.buffer->wait();
           },
           R"(Wait until the elements are complete. On the CPU they always are.

Raises:
    DeviceError: if the work that writes them failed.)")
        .def(
            "wait_on",
            [](const T& self, const py::object& stream) {
                const auto on = to_stream(stream).value_or(kLegacyStream);
                const Unlocked unlocked;
                if (self.buffer) self.buffer->lend_to(on);
            },
            py::arg("stream"),
            R"(Make a stream wait for the elements; the host does not wait.

Work that takes the elements by their address needs it. The memory is reused only after the work that is queued on the
stream when the last reference is dropped.

Args:
    stream: a handle, or a stream of torch, CuPy, pycuda or Numba; None is the legacy default stream.)");
}

}  // namespace tricodec::python
