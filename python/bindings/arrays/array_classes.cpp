// SPDX-License-Identifier: Apache-2.0
/// The classes of arrays: ArrayView with what all have, Plane of a frame, DeviceArray for results on a GPU, and
/// BufferExporter for classes written in Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arrays/export.h"
#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/log.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::python {
namespace {

struct DeviceArray : ArrayView {};

const ArrayView& touched(const ArrayView& self) {
    self.touch();
    return self;
}

int view_getbuffer(PyObject* self, Py_buffer* buffer, int flags) {
    try {
        return fill_buffer(self, buffer, flags, touched(py::cast<const ArrayView&>(py::handle(self))));
    } catch (const std::exception& error) {  // of the work that fills in the array
        PyErr_SetString(PyExc_BufferError, error.what());
        buffer->obj = nullptr;
        return -1;
    }
}

py::object dtype_of(const ArrayView& self) {
    try {
        return numpy_dtype(touched(self));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_ImportError)) throw;
    } catch (const py::import_error&) {
    }
    return py::str(dtype_text(self));  // bfloat16 without ml_dtypes
}

std::int64_t length_of(const ArrayView& self) {
    if (touched(self).shape.size() == 0) throw py::type_error("an array without axes has no length");
    return self.shape[0];
}

/// Elements [first, first + count) of the first axis, or without `count` the one element `first`.
DeviceArray cut(const DeviceArray& self, std::int64_t first, std::optional<std::int64_t> count) {
    DeviceArray result = self;
    result.data += first * self.strides[0];
    if (count) {
        result.shape[0] = *count;
    } else {
        result.shape = Extents(self.shape.begin() + 1, self.shape.end());
        result.strides = Extents(self.strides.begin() + 1, self.strides.end());
    }
    return result;
}

DeviceArray item(const DeviceArray& self, const py::object& index) {
    const auto length = length_of(self);
    if (py::isinstance<py::slice>(index)) {
        py::ssize_t start = 0;
        py::ssize_t stop = 0;
        py::ssize_t step = 0;
        py::ssize_t count = 0;
        if (!py::reinterpret_borrow<py::slice>(index).compute(length, &start, &stop, &step, &count)) {
            throw py::error_already_set();
        }
        if (step == 1) return cut(self, start, count);
        throw py::value_error(
            "a DeviceArray takes slices without a step; use torch.from_dlpack() or cupy.from_dlpack() for others");
    }
    if (PyBool_Check(index.ptr()) != 0 || PyIndex_Check(index.ptr()) == 0) {
        throw py::type_error("a DeviceArray takes an integer or a slice of its first axis, not " + shown(index) +
                             "; use torch.from_dlpack() or cupy.from_dlpack() for others");
    }
    const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto at = number < 0 ? number + length : number;
    if (at < 0 || at >= length) {
        throw py::index_error("index " + std::to_string(number) + " is outside an axis of " + std::to_string(length));
    }
    return cut(self, at, std::nullopt);
}

py::array copied_to_host(const DeviceArray& self) {
    static_cast<void>(numpy_dtype(self));  // raises before the copy, not after
    const TensorView view = self.tensor_view();
    Tensor host;
    {
        const Unlocked unlocked;
        host = to_host(view, self.buffer.get());
    }
    return to_numpy(std::move(host));
}

DeviceArray reshape(const DeviceArray& self, const py::object& shape) {
    const auto wanted = py::tuple(shape).cast<std::vector<std::int64_t>>();
    if (!holds(wanted, self.size())) {
        throw py::value_error("shape " + shape_text(wanted) + " does not hold the " + std::to_string(self.size()) +
                              " elements of " + describe(self.tensor_view()));
    }
    DeviceArray result = self;
    result.shape = Extents(wanted.begin(), wanted.end());
    result.strides = contiguous_extents(result.shape, result.itemsize);  // every DeviceArray is C-contiguous
    return result;
}

const py::object& on_gpu(const py::object& array) {
    if (is_on_gpu(array, "array")) return array;
    throw py::type_error("array must be on a GPU, with __dlpack__ or __cuda_array_interface__, not " + shown(array));
}

DeviceArray copy_of_gpu_array(const py::object& array) {
    const ArrayView source = import_for_work(on_gpu(array), {.name = "array"});
    const TensorView view = source.tensor_view();
    const Unlocked unlocked;
    Tensor copy = copy_on_device(view, nullptr, source.stream);
    copy.buffer->wait();  // from here on the caller may change the array
    return {ArrayView(std::move(copy))};
}

DeviceArray over_gpu_array(const py::object& array, const std::string& dtype) {
    ArrayView view = import_array(on_gpu(array), {.name = "array"});
    view.buffer = view.ordered_buffer();
    if (dtype == kBfloat16) view.typestr = kBfloat16;
    return {std::move(view)};
}

/// A uint16 array of the bits of bfloat16 numbers as a DLPack capsule of that type, which numpy cannot make.
py::capsule bfloat16_to_dlpack(const py::array& bits) {
    ArrayView array = import_array(bits, {.name = "bits"});
    if (array.dtype() != DType::uint16) {
        throw py::type_error("the bits of bfloat16 numbers are uint16, not " + dtype_text(array));
    }
    array.typestr = kBfloat16;
    return to_dlpack(array, py::none(), py::none(), py::none(), py::none());
}

void bind_array_view(py::module_& module) {
    py::class_<ArrayView, std::shared_ptr<ArrayView>> cls(module, "ArrayView", buffer_protocol<view_getbuffer>(),
                                                          "What all classes of arrays have.");
    cls.def_property_readonly(
           "shape", [](const ArrayView& self) { return to_tuple(touched(self).shape); }, "Extents of the axes.")
        .def_property_readonly(
            "strides", [](const ArrayView& self) { return to_tuple(touched(self).strides); },
            "Bytes from one element to the next along each axis.")
        .def_property_readonly(
            "ndim", [](const ArrayView& self) { return touched(self).shape.size(); }, "Number of axes.")
        .def_property_readonly(
            "size", [](const ArrayView& self) { return touched(self).size(); }, "Number of elements.")
        .def_property_readonly(
            "nbytes", [](const ArrayView& self) { return touched(self).size() * self.itemsize; },
            "Bytes of the elements, padding not counted.")
        .def_property_readonly("dtype", dtype_of, "numpy dtype of an element.")
        .def_property_readonly(
            "data_ptr", [](const ArrayView& self) { return reinterpret_cast<std::uintptr_t>(touched(self).data); },
            "Address of the first element. On a GPU, wait_on() orders the work that uses it.")
        .def_property_readonly(
            "__array_interface__",
            [](const ArrayView& self) { return or_attribute_error([&] { return array_interface(touched(self)); }); },
            "numpy's array interface, version 3; only in host memory.")
        .def(
            "__array__",
            [](const py::object& self, const py::object& dtype, const py::object& copy) {
                return to_numpy_array(touched(self.cast<const ArrayView&>()), self, dtype, copy);
            },
            py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
            "numpy's conversion, which shares host memory. TypeError for an array on a GPU.")
        .def("__len__", length_of);
    def_exchange(cls, touched);
}

void bind_device_array(py::module_& module) {
    py::class_<DeviceArray, ArrayView, std::shared_ptr<DeviceArray>> cls(
        module, "DeviceArray",
        R"(An array in the memory of a GPU: the result of `Transform`, `FrameReader.batch` and `decode_video` there.

    >>> frames = tricodec.decode_video(tricodec.sample_video(), count=8).frames
    >>> isinstance(frames, tricodec.DeviceArray | np.ndarray)  # on a GPU | on the CPU
    True

Consumers of DLPack or the CUDA array interface, such as ``torch.from_dlpack(array)`` and ``cupy.asarray(array)``, share
the memory, which stays valid as long as one of them lives. The GPU may still write the array when a call returns it:
DLPack makes the consumer's stream wait, the CUDA array interface makes the legacy default stream wait. ``numpy()``
copies to the host; ``np.asarray(array)`` raises TypeError.

Thread safety: safe.)");
    publish(cls);
    cls.def_property_readonly("dtype", dtype_of,
                              "numpy dtype of an element. bfloat16 is of the package ml_dtypes; without it this is the "
                              "str \"bfloat16\".")
        .def("numpy", copied_to_host,
             R"(Copy to host memory, page-locked up to 256 MiB; waits for the array and the copy only.

Returns:
    A numpy array of its own.
Raises:
    ImportError: for bfloat16 without the package ml_dtypes.)")
        .def_static("copy_of", copy_of_gpu_array, py::arg("array"),
                    R"(A copy of an array on a GPU.

Args:
    array: has __dlpack__ or __cuda_array_interface__, and is C-contiguous or has rows that are.
Raises:
    TypeError: for host memory and element types that are not known.
    UnsupportedError: for other strides.)")
        .def_static(
            "over", over_gpu_array, py::arg("array"), py::arg("dtype") = "",
            "The memory of an array on a GPU, without a copy; uint16 may be the bits of the dtype \"bfloat16\".")
        .def("reshape", reshape, py::arg("shape"),
             "The same elements in another shape, without a copy.\n\n"
             "Raises:\n"
             "    ValueError: if the shape does not hold as many.")
        .def("__getitem__", item, py::arg("index"),
             R"(An element or a slice of the first axis, without a copy.

Raises:
    IndexError: past the end.
    TypeError, ValueError: for other indices.)")
        .def("__repr__",
             [](const DeviceArray& self) { return "<tricodec.DeviceArray " + describe(self.tensor_view()) + ">"; });
    def_waiting(cls);
}

void bind_plane(py::module_& module) {
    py::class_<PlaneArray, ArrayView, std::shared_ptr<PlaneArray>> cls(
        module, "Plane", R"(One plane of a frame: a read-only array over the decoder's own memory.

Its shape is (rows, columns), or (rows, columns, components) where components lie side by side. Its dtype is uint8, or
uint16 for more than 8 bits. ``np.asarray(plane)``, ``memoryview(plane)``, ``np.from_dlpack(plane)`` and
``torch.from_dlpack(plane)`` share the memory, which stays valid as long as any of them lives; on a GPU
``torch.from_dlpack(plane)``, ``cupy.asarray(plane)`` and ``numba.cuda.as_cuda_array(plane)`` do.

Thread safety: safe; the samples never change.)");
    publish(cls);
    cls.def("__repr__",
            [](const PlaneArray& self) { return "<tricodec.video.Plane " + describe(self.tensor_view()) + ">"; });
}

int give_buffer(PyObject* self, Py_buffer* buffer, int flags) noexcept {
    buffer->obj = nullptr;
    PyObject* view = PyObject_CallMethod(self, "__buffer__", "i", flags);
    if (view == nullptr) return -1;
    int result = -1;
    if (PyMemoryView_Check(view)) {
        // The consumer's reference is to the memoryview, which keeps what it looks at.
        result = PyObject_GetBuffer(view, buffer, flags);
    } else {
        PyErr_SetString(PyExc_TypeError, "__buffer__() must return a memoryview");
    }
    Py_DECREF(view);
    return result;
}

/// Page-locked bytes for a GPU, or ordinary ones without a usable GPU.
py::array pinned_bytes(std::int64_t num_bytes, int device_index) {
    Tensor tensor;
    {
        const Unlocked unlocked;
        const std::vector<std::int64_t> shape{num_bytes};
        const auto reason = gpu_unusable_reason(device_index);
        if (reason.empty()) {
            tensor = Tensor::empty_pinned(shape, DType::uint8, {Device::Kind::cuda, device_index});
        } else {
            log(LogLevel::info, "pinned_empty: the memory is not page-locked: " + reason);
            tensor = Tensor::empty(shape, DType::uint8);
        }
    }
    return to_numpy(std::move(tensor));
}

PyType_Slot g_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(give_buffer)},
    {Py_tp_doc, const_cast<char*>("Base of classes that export the memoryview which their __buffer__(flags) returns.")},
    {0, nullptr},
};

PyType_Spec g_spec = {"tricodec._tricodec.BufferExporter", sizeof(PyObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, g_slots};

}  // namespace

py::object to_device_array(ArrayView array) {
    return py::cast(std::make_shared<DeviceArray>(DeviceArray{std::move(array)}));
}

void bind_arrays(py::module_& module) {
    module.def("bfloat16_to_dlpack", bfloat16_to_dlpack, py::arg("bits"), "Made by `tricodec.arrays.Bfloat16Array`.");
    module.def("pinned_bytes", pinned_bytes, py::arg("num_bytes"), py::arg("device_index"),
               "Memory of pinned_empty().");
    bind_array_view(module);
    bind_plane(module);
    bind_device_array(module);
    PyObject* type = PyType_FromSpec(&g_spec);
    if (type == nullptr) throw py::error_already_set();
    module.attr("BufferExporter") = py::reinterpret_steal<py::object>(type);
}

}  // namespace tricodec::python
