// SPDX-License-Identifier: Apache-2.0
/// DeviceArray: a result on a GPU, for other libraries to take without a copy.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "convert.h"
#include "destination.h"
#include "gil.h"
#include "interop.h"
#include "streams.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

struct DeviceArray : ArrayView {};

DeviceArray over(const DeviceArray& whole, TensorView view) {
    return {{std::move(view), whole.owner, whole.buffer}};
}

py::object dtype_of(const DeviceArray& self) {
    try {
        return to_numpy_dtype(self.view.dtype);
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_ImportError)) throw;
        return py::str(std::string(to_string(self.view.dtype)));  // bfloat16 without ml_dtypes
    }
}

std::int64_t length_of(const DeviceArray& self) {
    if (self.view.shape.empty()) throw py::type_error("an array without axes has no length");
    return self.view.shape[0];
}

DeviceArray item(const DeviceArray& self, const py::object& index) {
    const auto length = length_of(self);
    if (py::isinstance<py::slice>(index)) {
        std::size_t start = 0;
        std::size_t stop = 0;
        std::size_t step = 0;
        std::size_t count = 0;
        const auto slice = py::reinterpret_borrow<py::slice>(index);
        if (!slice.compute(static_cast<std::size_t>(length), &start, &stop, &step, &count)) {
            throw py::error_already_set();
        }
        if (step != 1) {
            throw py::value_error(
                "a DeviceArray takes slices without a step; use torch.from_dlpack() or "
                "cupy.from_dlpack() for more");
        }
        const auto begin = static_cast<std::int64_t>(start);
        return over(self, self.view.slice(begin, begin + static_cast<std::int64_t>(count)));
    }
    if (PyBool_Check(index.ptr()) != 0 || PyIndex_Check(index.ptr()) == 0) {
        throw py::type_error("a DeviceArray takes an integer or a slice of its first axis, not " + shown(index) +
                             "; use torch.from_dlpack() or cupy.from_dlpack() for more");
    }
    const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto at = number < 0 ? number + length : number;
    if (at < 0 || at >= length) {
        throw py::index_error("index " + std::to_string(number) + " is outside an axis of " + std::to_string(length));
    }
    return over(self, self.view[at]);
}

py::array numpy_of(const DeviceArray& self) {
    static_cast<void>(to_numpy_dtype(self.view.dtype));  // raises before the copy, not after
    Tensor host;
    {
        const Unlocked unlocked;
        host = to_host(self.view, self.buffer.get());
    }
    return to_numpy(host);
}

DeviceArray reshape(const DeviceArray& self, const py::object& shape) {
    TensorView view = self.view;
    view.shape = py::tuple(shape).cast<std::vector<std::int64_t>>();
    if (!holds(view.shape, self.view.num_elements())) {
        throw py::value_error("shape " + shape_text(view.shape) + " does not hold the " +
                              std::to_string(self.view.num_elements()) + " elements of " + describe(self.view));
    }
    view.strides_bytes = contiguous_strides(view.shape, view.dtype);  // every DeviceArray is C-contiguous
    return over(self, std::move(view));
}

DeviceArray copy_of_gpu_array(const py::object& array) {
    const auto source = find_on_gpu(array);
    if (!source) {
        throw py::type_error("array must be on a GPU, with __dlpack__ or __cuda_array_interface__, not " +
                             shown(array));
    }
    const Unlocked unlocked;
    Tensor copy = copy_on_device(source->view, nullptr, source->stream);
    copy.buffer->wait();  // the array is the caller's again
    return {{std::move(copy.view), std::move(copy.owner), std::move(copy.buffer)}};
}

void bind_places(py::class_<DeviceArray>& cls) {
    cls.def_property_readonly(
           "shape", [](const DeviceArray& self) { return to_tuple(self.view.shape); }, "Extents of the axes.")
        .def_property_readonly(
            "strides", [](const DeviceArray& self) { return to_tuple(self.view.strides_bytes); },
            "Bytes from one element to the next along each axis.")
        .def_property_readonly(
            "ndim", [](const DeviceArray& self) { return self.view.shape.size(); }, "Number of axes.")
        .def_property_readonly(
            "size", [](const DeviceArray& self) { return self.view.num_elements(); }, "Number of elements.")
        .def_property_readonly(
            "nbytes",
            [](const DeviceArray& self) { return self.view.num_elements() * std::int64_t(size_of(self.view.dtype)); },
            "Bytes of the elements.")
        .def_property_readonly("dtype", dtype_of,
                               "numpy dtype of an element; the str \"bfloat16\" where ml_dtypes, whose type that is, "
                               "is not installed.")
        .def_property_readonly(
            "data_ptr", [](const DeviceArray& self) { return reinterpret_cast<std::uintptr_t>(self.view.data); },
            "Device address of the first element. Work that uses it is ordered by wait_on().")
        .def_property_readonly(
            "device", [](const DeviceArray& self) { return self.view.device.to_string(); },
            "Where the elements are: \"cuda:N\".");
}

}  // namespace

py::object to_array(Tensor tensor) {
    if (tensor.view.device.kind == Device::Kind::cpu) return to_numpy(tensor);
    return to_device_array({std::move(tensor.view), std::move(tensor.owner), std::move(tensor.buffer)});
}

py::object to_device_array(ArrayView array) {
    return py::cast(DeviceArray{std::move(array)});
}

void bind_device_array(py::module_& module) {
    py::class_<DeviceArray> cls(
        module, "DeviceArray",
        "An array on a GPU: what a Transform, batch(), batches() and decode_video() give there.\n\n"
        "``torch.from_dlpack(array)``, ``cupy.from_dlpack(array)``, ``cupy.asarray(array)``, "
        "``numba.cuda.as_cuda_array(array)``\n"
        "and what else takes DLPack or the CUDA array interface share its memory, which stays valid as long as any of "
        "them lives.\n"
        "It may still be being written when it is returned: DLPack makes the consumer's stream wait, the CUDA array\n"
        "interface the legacy default stream, and nobody else needs to. ``numpy()`` copies to the host; numpy itself "
        "refuses it.\n\n"
        "Thread safety: safe.");
    publish(cls);
    bind_places(cls);
    cls.def("numpy", numpy_of,
            "Copy to the host, into page-locked memory; waits for the array and the copy only.\n\n"
            "Returns:\n"
            "    A numpy array of its own.\n"
            "Raises:\n"
            "    ImportError: for bfloat16 where ml_dtypes is not installed.")
        .def_static("copy_of", copy_of_gpu_array, py::arg("array"),
                    "A copy of an array on a GPU.\n\n"
                    "Args:\n"
                    "    array: anything there with __dlpack__ or __cuda_array_interface__; C-contiguous, or with rows "
                    "that are.\n"
                    "Raises:\n"
                    "    TypeError: for host memory and element types that are not known.\n"
                    "    UnsupportedError: for other strides.")
        .def("reshape", reshape, py::arg("shape"),
             "The same elements in another shape, without a copy.\n\n"
             "Raises:\n"
             "    ValueError: if the shape does not hold as many.")
        .def(
            "wait",
            [](const DeviceArray& self) {
                const Unlocked unlocked;
                if (self.buffer) self.buffer->wait();
            },
            "Wait until the elements are there.\n\n"
            "Raises:\n"
            "    DeviceError: if the work that writes them failed.")
        .def(
            "wait_on",
            [](const DeviceArray& self, const py::object& stream) {
                const auto on = to_stream(stream).value_or(kLegacyStream);
                const Unlocked unlocked;
                if (self.buffer) self.buffer->lend_to(on);
            },
            py::arg("stream"),
            "Make a stream wait for the elements; the host does not. The memory is given to nobody else before what "
            "is\n"
            "queued there when the last reference goes is done.\n\n"
            "Args:\n"
            "    stream: a handle, or a stream of torch, CuPy, pycuda or Numba; None is the legacy default stream.")
        .def_property_readonly(
            "__cuda_array_interface__", [](const DeviceArray& self) { return cuda_array_interface(self); },
            "The CUDA array interface, version 3.")
        .def(
            "__array__",
            [](const DeviceArray& self, const py::object&, const py::object&) -> py::object {
                throw py::type_error("the array is on " + self.view.device.to_string() +
                                     ", and numpy's are in host memory; copy it by numpy()");
            },
            py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
            "Raises TypeError: a copy to the host is asked for by numpy().")
        .def(
            "__dlpack__",
            [](const DeviceArray& self, const py::object& stream, const py::object& max_version,
               const py::object& dl_device,
               const py::object& copy) { return export_dlpack(self, stream, max_version, dl_device, copy); },
            py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
            py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
            "Export as a DLPack capsule, as the array API standard words it.\n\n"
            "Args:\n"
            "    stream: the consumer's, which waits for the elements: None or 1 is the legacy default stream, 2 the "
            "per-thread\n"
            "        one, more a handle; -1 asks for no order.\n"
            "    max_version: (major, minor) that the consumer understands; from (1, 0) on the capsule is versioned.\n"
            "    dl_device: where it is wanted: here, or (1, 0) for a copy on the host.\n"
            "    copy: True exports a copy; None and False share the memory.\n"
            "Raises:\n"
            "    BufferError: if another device is asked for.\n"
            "    ValueError: for stream 0 and what is no stream.")
        .def(
            "__dlpack_device__", [](const DeviceArray& self) { return dlpack_device(self.view); },
            "(device_type, device_id): (2, N).")
        .def("__len__", length_of)
        .def("__getitem__", item, py::arg("index"),
             "An element or a slice of the first axis, without a copy.\n\n"
             "Raises:\n"
             "    IndexError: past the end.\n"
             "    TypeError, ValueError: for other indices.")
        .def("__repr__", [](const DeviceArray& self) { return "<tricodec.DeviceArray " + describe(self.view) + ">"; });
}

}  // namespace tricodec::python
