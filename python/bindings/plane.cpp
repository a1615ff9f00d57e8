// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "interop.h"
#include "streams.h"

namespace tricodec::python {
namespace {

int plane_getbuffer(PyObject* self, Py_buffer* buffer, int flags) {
    return fill_buffer(self, buffer, flags, py::cast<const ArrayView&>(py::handle(self)).view);
}

/// numpy asks for it where the memory cannot be shared; without it numpy would make an array of one object.
py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy) {
    const auto& array = self.cast<const ArrayView&>();
    if (array.on_gpu()) throw py::type_error(not_in_host_memory(array.view));
    const auto shared = view_as_numpy(array.view, self);
    using namespace py::literals;
    return py::module_::import("numpy").attr("array")(shared, "dtype"_a = dtype,
                                                      "copy"_a = !copy.is_none() && copy.cast<bool>());
}

}  // namespace

void bind_plane(py::module_& module) {
    module.def("bfloat16_to_dlpack", export_bfloat16, py::arg("bits"),
               "A DLPack capsule of bfloat16 numbers whose bits a uint16 array holds; the memory is shared.\n\n"
               "Raises:\n"
               "    TypeError: if the array is not of uint16.");
    py::class_<ArrayView, std::shared_ptr<ArrayView>> cls(
        module, "Plane", buffer_protocol<ArrayView, plane_getbuffer>(),
        "One plane of a frame: a read-only strided array over the decoder's own memory.\n\n"
        "``np.asarray(plane)``, ``memoryview(plane)``, ``np.from_dlpack(plane)`` and ``torch.from_dlpack(plane)`` "
        "share\n"
        "that memory, which stays valid as long as any of them lives. On a GPU ``torch.from_dlpack(plane)``,\n"
        "``cupy.from_dlpack(plane)``, ``cupy.asarray(plane)`` and ``numba.cuda.as_cuda_array(plane)`` do.\n\n"
        "Thread safety: safe; the samples never change.");
    publish(cls);
    cls.def_property_readonly(
           "shape", [](const ArrayView& self) { return to_tuple(self.view.shape); },
           "Extents: (rows, columns), or (rows, columns, components) where components lie side by side.")
        .def_property_readonly(
            "strides", [](const ArrayView& self) { return to_tuple(self.view.strides_bytes); },
            "Bytes from one element to the next along each axis.")
        .def_property_readonly(
            "dtype", [](const ArrayView& self) { return to_numpy_dtype(self.view.dtype); },
            "numpy dtype of a sample: uint8, or uint16 for more than 8 bits.")
        .def_property_readonly(
            "data_ptr", [](const ArrayView& self) { return reinterpret_cast<std::uintptr_t>(self.view.data); },
            "Address of the first sample.")
        .def_property_readonly(
            "device", [](const ArrayView& self) { return self.view.device.to_string(); },
            "Where the samples are: \"cpu\" or \"cuda:N\".")
        .def_property_readonly(
            "nbytes",
            [](const ArrayView& self) { return self.view.num_elements() * std::int64_t(size_of(self.view.dtype)); },
            "Bytes of the samples, row padding not counted.")
        .def_property_readonly(
            "__array_interface__", [](const ArrayView& self) { return array_interface(self.view); },
            "numpy's array interface, version 3, read-only; not on a GPU.")
        .def_property_readonly("__cuda_array_interface__", cuda_array_interface,
                               "The CUDA array interface, version 3; only on a GPU.")
        .def("__array__", array_of, py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
             "numpy's conversion.\n\n"
             "Raises:\n"
             "    TypeError: for samples on a GPU.")
        .def(
            "__dlpack__", export_dlpack, py::kw_only(), py::arg("stream") = py::none(),
            py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
            "Export as a DLPack capsule.\n\n"
            "Args:\n"
            "    stream: None or -1 on the CPU, where there are no streams. On a GPU the consumer's, which waits for "
            "the\n"
            "        samples: None or 1 is the legacy default stream, 2 the per-thread one, more a handle; -1 asks for "
            "no order.\n"
            "    max_version: (major, minor) that the consumer understands. From (1, 0) on the capsule is a\n"
            "        \"dltensor_versioned\", marked read-only in host memory, else a \"dltensor\", which cannot carry "
            "the\n"
            "        mark: do not write through it.\n"
            "    dl_device: (device_type, device_id) wanted; None, where the samples are, or (1, 0), which copies "
            "from a GPU.\n"
            "    copy: True exports a copy, which may be written; None and False share the memory.\n"
            "Returns:\n"
            "    A capsule for ``from_dlpack``.\n"
            "Raises:\n"
            "    BufferError: if another device is asked for.\n"
            "    ValueError: if a stream is given on the CPU, or one that is none.")
        .def(
            "__dlpack_device__", [](const ArrayView& self) { return dlpack_device(self.view); },
            "(device_type, device_id): (1, 0) on the CPU, (2, N) on a GPU.")
        .def("__len__", [](const ArrayView& self) { return self.view.shape.at(0); })
        .def("__repr__", [](const ArrayView& self) { return "<tricodec.Plane " + describe(self.view) + ">"; });
}

}  // namespace tricodec::python
