// SPDX-License-Identifier: Apache-2.0
#include "compress_array.h"

#include <pybind11/numpy.h>

#include "bindings.h"
#include "compress_array_export.h"
#include "compress_memory.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/dlpack.h"
#include "tricodec/error.h"
#include "tricodec/log.h"

namespace tricodec::python {
namespace {

/// An attribute of an array that is looked at.
template <class Function>
auto touching(Function function) {
    return [function](const CompressArray& self) {
        self.touch();
        return function(self);
    };
}

/// A contiguous copy on `device`, made on one of the GPU's streams; None, and why in the log, where the memory or the
/// copy failed.
py::object copied_to(const ArrayPtr& array, Device device, StreamView stream, bool wait) {
    const ArrayPtr source = contiguous(array);
    try {
        ArrayPtr copy = new_array(static_cast<std::size_t>(source->size() * source->itemsize), device,
                                  device.kind == Device::Kind::cpu ? StreamView{} : stream);
        {
            Unlocked unlocked;
            if (source->buffer) source->buffer->wait_on(stream);
            copy_bytes(copy->data, copy->device, source->data, source->device, copy->capacity, stream, wait);
            if (copy->buffer) copy->buffer->written_on(stream);
        }
        copy->typestr = source->typestr;
        copy->itemsize = source->itemsize;
        copy->shape = source->shape;
        copy->strides = source->strides;
        return py::cast(copy);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device) throw;
        log(LogLevel::warning, "the array could not be copied to " + device.to_string() + ": " + error.what());
        return py::none();
    }
}

py::object to_cpu(const py::object& self) {
    const auto array = self.cast<ArrayPtr>();
    array->touch();
    if (array->device.kind == Device::Kind::cpu) return self;
    return copied_to(array, {}, array->stream, true);
}

py::object to_cuda(const py::object& self, bool synchronize, std::uintptr_t stream) {
    const auto array = self.cast<ArrayPtr>();
    array->touch();
    if (array->device.kind == Device::Kind::cuda) return self;
    if (!gpu_present()) return py::none();
    return copied_to(array, {Device::Kind::cuda, CudaStream::borrow(stream)->device_index()}, {stream}, synchronize);
}

}  // namespace

void CompressArray::touch() const {
    if (pending == nullptr || pending->is_finished()) return;
    const auto held = pending;  // whoever finishes first may let it go
    Unlocked unlocked;
    held->finish();
}

std::int64_t CompressArray::size() const noexcept {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::int64_t CompressArray::span_bytes() const noexcept {
    if (size() == 0) return 0;
    std::int64_t last = itemsize;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * strides[axis];
    return last;
}

bool CompressArray::is_contiguous() const noexcept {
    std::int64_t step = itemsize;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] == 0) return true;
        if (shape[axis] > 1 && strides[axis] != step) return false;
        step *= shape[axis];
    }
    return true;
}

ArrayPtr new_array(std::size_t size_bytes, Device device, StreamView stream) {
    auto array = std::make_shared<CompressArray>();
    array->shape = {static_cast<std::int64_t>(size_bytes)};
    array->strides = {1};
    array->device = device;
    array->stream = stream;
    array->capacity = size_bytes;
    array->owned = true;
    if (ForeignMemory foreign = allocate_by_caller(size_bytes, device, stream); foreign.owner) {
        array->data = static_cast<std::byte*>(foreign.data);
        if (device.kind == Device::Kind::cpu) {
            array->memory = foreign.owner;
        } else {
            array->buffer = Buffer::borrow(foreign.data, size_bytes, foreign.owner, device, stream);
            array->memory = array->buffer;
        }
        return array;
    }
    const auto buffer = Buffer::allocate(size_bytes, device, stream);
    array->data = buffer->data();
    array->memory = buffer;
    array->buffer = buffer;
    return array;
}

bool give_up_tail(const CompressArray& array, std::size_t used_bytes) noexcept {
    return array.device.kind == Device::Kind::cpu && array.buffer != nullptr && array.buffer->give_up_tail(used_bytes);
}

void set_element_type(std::span<const ArrayPtr> arrays, const std::string& typestr) {
    if (arrays.empty()) return;
    const std::string wanted = typestr.empty() ? "|u1" : typestr;
    CompressArray typed;
    typed.typestr = wanted == "|f1" ? wanted : py::dtype::from_args(py::str(wanted)).attr("str").cast<std::string>();
    typed.itemsize = numpy_dtype(typed).itemsize();
    for (const ArrayPtr& array : arrays) {
        const std::int64_t bytes = array->size() * array->itemsize;
        if (typed.itemsize == 0 || bytes % typed.itemsize != 0) {
            throw py::value_error("Buffer size not aligned with size of data type: " + std::to_string(bytes) +
                                  " bytes are no whole number of " + wanted);
        }
        array->typestr = typed.typestr;
        array->itemsize = typed.itemsize;
        array->shape = {bytes / typed.itemsize};
        array->strides = {typed.itemsize};
    }
}

ArrayPtr contiguous(const ArrayPtr& array) {
    if (array->is_contiguous()) return array;
    if (array->device.kind == Device::Kind::cuda) {
        throw py::value_error("an array on a GPU must be C-contiguous; its strides are " + shape_text(array->strides));
    }
    const auto view = py::array(numpy_dtype(*array), array->shape, array->strides, array->data, py::cast(array));
    return to_array(py::module_::import("numpy").attr("ascontiguousarray")(view));
}

bool gpu_present() {
    return !gpus().empty();
}

void bind_compress_array(py::module_& module) {
    py::class_<CompressArray, ArrayPtr> cls(
        module, "CompressArray", py::custom_type_setup([](PyHeapTypeObject* heap_type) {
            heap_type->as_buffer.bf_getbuffer = get_buffer;
            heap_type->as_buffer.bf_releasebuffer = release_buffer;
            heap_type->ht_type.tp_as_buffer = &heap_type->as_buffer;
        }),
        "Bytes on the CPU or a GPU with a shape and an element type; what codecs take and give.\n\n"
        "It wraps memory of any library without a copy, and hands its own out likewise: ``bytes(a)``, "
        "``memoryview(a)``,\n"
        "``np.asarray(a)``, ``np.from_dlpack(a)``, ``torch.from_dlpack(a)``, ``cupy.asarray(a)``.\n\n"
        "Thread safety: safe; the elements are the caller's to guard.");
    publish(cls);
    cls.attr("__name__") = "Array";  // as users meet it
    cls.attr("__qualname__") = "Array";
    cls.def(py::init([](const py::object& source, std::uintptr_t stream) {
                return std::make_shared<CompressArray>(*to_array(source, stream));
            }),
            py::arg("src_object"), py::arg("cuda_stream") = 0,
            "Wrap an object's memory; see `as_array`.\n\n"
            "Args:\n"
            "    src_object: any array, DLPack capsule or buffer.\n"
            "    cuda_stream: cudaStream_t as an int, on which the memory is written.\n"
            "Raises:\n"
            "    TypeError: if it is none of these.");
    cls.def_property_readonly("shape", touching([](const CompressArray& self) { return to_tuple(self.shape); }),
                              "Extents, a tuple of int.")
        .def_property_readonly("strides", touching([](const CompressArray& self) { return to_tuple(self.strides); }),
                               "Bytes from one element to the next along each axis.")
        .def_property_readonly("dtype", touching(numpy_dtype), "numpy dtype of the elements.")
        .def_property_readonly("ndim", touching([](const CompressArray& self) { return self.shape.size(); }),
                               "Number of axes.")
        .def_property_readonly("size", touching([](const CompressArray& self) { return self.size(); }),
                               "Number of elements.")
        .def_property_readonly("item_size", touching([](const CompressArray& self) { return self.itemsize; }),
                               "Bytes of an element.")
        .def_property_readonly("buffer_size", touching([](const CompressArray& self) { return self.span_bytes(); }),
                               "Bytes from the first element to the end of the last.")
        .def_property_readonly("capacity", touching([](const CompressArray& self) { return self.capacity; }),
                               "Bytes that the memory has room for.")
        .def_property_readonly(
            "precision", [](const CompressArray&) { return 0; },
            "Significant bits of an element; 0 stands for all of the type's.")
        .def_property_readonly(
            "buffer_kind", touching([](const CompressArray& self) {
                const auto kinds = py::module_::import("tricodec.compress._enums").attr("ArrayBufferKind");
                return kinds.attr(self.device.kind == Device::Kind::cpu ? "STRIDED_HOST" : "STRIDED_DEVICE");
            }),
            "Where the memory is, an `ArrayBufferKind`.")
        .def_property_readonly("__array_interface__", touching([](const CompressArray& self) {
                                   if (self.device.kind != Device::Kind::cpu) {
                                       PyErr_SetString(PyExc_AttributeError, "the array is on a GPU; use cpu() first");
                                       throw py::error_already_set();
                                   }
                                   return interface_of(self, false);
                               }),
                               "numpy's array interface, version 3; on the CPU.")
        .def_property_readonly(
            "__cuda_array_interface__", touching([](const CompressArray& self) { return interface_of(self, true); }),
            "CUDA array interface, version 3; of an array on the CPU with its address there, as in nvCOMP.")
        .def(
            "__dlpack__",
            [](const ArrayPtr& self, const py::object& stream, const py::object&, const py::object&,
               const py::object& copy) {
                if (!copy.is_none() && copy.cast<bool>()) {
                    throw py::buffer_error("a copy is not made here; use copy=None and copy after the import");
                }
                self->touch();
                order_for(*self, stream);
                return to_capsule(self);
            },
            py::arg("stream") = py::none(), py::kw_only(), py::arg("max_version") = py::none(),
            py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
            "Export as a DLPack capsule; nothing is copied.\n\n"
            "Args:\n"
            "    stream: the consumer's stream as an int, -1 for none; used on GPUs only.\n"
            "    max_version: accepted; the capsule is a \"dltensor\", which every version understands.\n"
            "    dl_device: accepted; the memory stays where it is.\n"
            "    copy: None or False.\n"
            "Returns:\n"
            "    A capsule for ``from_dlpack``.\n"
            "Raises:\n"
            "    BufferError: for copy=True and for elements without a DLPack type.")
        .def(
            "__dlpack_device__",
            [](const CompressArray& self) {
                const auto device = dlpack::to_dlpack(self.device);
                return py::make_tuple(device.device_type, device.device_id);
            },
            "(device_type, device_id): (1, 0) on the CPU, (2, N) on GPU N.")
        .def(
            "to_dlpack",
            [](const ArrayPtr& self, const py::object& stream) {
                self->touch();
                order_for(*self, stream);
                return to_capsule(self);
            },
            py::arg("cuda_stream") = py::none(),
            "Export as a DLPack capsule; nothing is copied.\n\n"
            "Args:\n"
            "    cuda_stream: cudaStream_t as an int, which will see the bytes complete.\n"
            "Returns:\n"
            "    A capsule, good for one import.")
        .def("cpu", to_cpu,
             "This array in host memory: itself if it is there, else a copy.\n\n"
             "Returns:\n"
             "    The array, or None if the copy could not be made; the log says why.")
        .def("cuda", to_cuda, py::arg("synchronize") = true, py::arg("cuda_stream") = 0,
             "This array in device memory: itself if it is there, else a copy.\n\n"
             "Args:\n"
             "    synchronize: wait for the copy.\n"
             "    cuda_stream: cudaStream_t as an int, on which it is copied; it also tells the device.\n"
             "Returns:\n"
             "    The array, or None where there is no GPU and if the copy could not be made; the log says why.")
        .def("__len__",
             [](const CompressArray& self) {
                 self.touch();
                 if (self.shape.size() == 0) throw py::type_error("an array without axes has no length");
                 return self.shape[0];
             })
        .def("__repr__", [](const CompressArray& self) {
            self.touch();
            return "<tricodec.Array " + self.typestr + " " + shape_text(self.shape) + " on " + self.device.to_string() +
                   ">";
        });

    module.def(
        "as_array", to_array, py::arg("source"), py::arg("cuda_stream") = 0,
        "Wrap an object's memory as an `Array`, which keeps the object; nothing is copied.\n\n"
        "Args:\n"
        "    source: an array with __cuda_array_interface__, __array_interface__ or __dlpack__, a DLPack capsule, or\n"
        "        a buffer such as bytes.\n"
        "    cuda_stream: cudaStream_t as an int; what is queued on it writes the memory, and work on the Array "
        "waits\n"
        "        for that.\n"
        "Returns:\n"
        "    The Array.\n"
        "Raises:\n"
        "    TypeError: if it is none of these.");
    module.def("dlpack_as_array", from_dlpack, py::arg("source"), py::arg("cuda_stream") = 0,
               "Wrap the memory behind DLPack as an `Array`; nothing is copied.\n\n"
               "Args:\n"
               "    source: a capsule, which is used up, or an object with __dlpack__ and __dlpack_device__.\n"
               "    cuda_stream: cudaStream_t as an int, on which the memory is written.\n"
               "Returns:\n"
               "    The Array.\n"
               "Raises:\n"
               "    TypeError: if it is neither.\n"
               "    ValueError: if the capsule was used before.");
}

}  // namespace tricodec::python
