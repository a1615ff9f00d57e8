// SPDX-License-Identifier: Apache-2.0
#include "compress_array.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings.h"
#include "compress_memory.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/dlpack.h"
#include "tricodec/error.h"
#include "tricodec/log.h"

namespace tricodec::python {
namespace {

dlpack::DLDataType dlpack_type(const CompressArray& array) {
    const auto bits = static_cast<std::uint8_t>(array.itemsize * 8);
    switch (array.typestr[1]) {
        case 'i':
            return {0, bits, 1};
        case 'u':
            return {1, bits, 1};
        case 'f':
            return array.itemsize == 1 ? dlpack::DLDataType{10, 8, 1} : dlpack::DLDataType{2, bits, 1};
        case 'c':
            return {5, bits, 1};
        case 'b':
            return {6, 8, 1};
        default:
            throw py::buffer_error("elements of type " + array.typestr + " have no DLPack type");
    }
}

struct Shape {
    std::vector<Py_ssize_t> shape;
    std::vector<Py_ssize_t> strides;
    std::string format;
    ArrayPtr array;
};

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
    buffer->obj = nullptr;
    try {
        const auto array = py::cast<ArrayPtr>(py::handle(self));
        array->touch();
        const auto refuse_buffer = [](const char* why) {
            PyErr_SetString(PyExc_BufferError, why);
            return -1;
        };
        if (array->device.kind != Device::Kind::cpu) return refuse_buffer("the array is on a GPU; use cpu() first");
        if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && array->read_only)
            return refuse_buffer("the array is read-only");
        const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
        if (!array->is_contiguous() && !strided) return refuse_buffer("the array is not contiguous");
        auto held = std::make_unique<Shape>();
        held->shape.assign(array->shape.begin(), array->shape.end());
        held->strides.assign(array->strides.begin(), array->strides.end());
        held->format = numpy_dtype(*array).attr("char").cast<std::string>();
        held->array = array;
        buffer->buf = array->data;
        buffer->itemsize = array->itemsize;
        buffer->len = array->size() * array->itemsize;
        buffer->readonly = array->read_only ? 1 : 0;
        const bool with_shape = (flags & PyBUF_ND) == PyBUF_ND;
        buffer->ndim = with_shape ? static_cast<int>(held->shape.size()) : 1;
        buffer->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? held->format.data() : nullptr;
        buffer->shape = with_shape ? held->shape.data() : nullptr;
        buffer->strides = strided ? held->strides.data() : nullptr;
        buffer->suboffsets = nullptr;
        buffer->internal = held.release();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        return -1;
    }
    Py_INCREF(self);
    buffer->obj = self;
    return 0;
}

void release_buffer(PyObject*, Py_buffer* buffer) {
    delete static_cast<Shape*>(buffer->internal);
    buffer->internal = nullptr;
}

py::tuple to_tuple(const Extents& values) {
    py::tuple result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
    return result;
}

py::dict interface_of(const CompressArray& array, bool cuda) {
    py::dict result;
    result["shape"] = to_tuple(array.shape);
    result["typestr"] = array.typestr == "|f1" ? "|u1" : array.typestr;
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), array.read_only);
    result["strides"] = array.is_contiguous() ? py::object(py::none()) : py::object(to_tuple(array.strides));
    result["version"] = 3;
    // 0 is not allowed there: the default stream is 1.
    if (cuda) result["stream"] = array.stream.handle == 0 ? std::uintptr_t{1} : array.stream.handle;
    return result;
}

struct Exported {
    dlpack::DLManagedTensor managed{};
    ArrayPtr array;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
};

py::capsule to_capsule(const ArrayPtr& array) {
    auto exported = std::make_unique<Exported>();
    exported->array = array;
    exported->shape.assign(array->shape.begin(), array->shape.end());
    for (const std::int64_t step : array->strides) exported->strides.push_back(step / array->itemsize);
    dlpack::DLTensor& tensor = exported->managed.dl_tensor;
    tensor.data = array->data;
    tensor.device = dlpack::to_dlpack(array->device);
    tensor.ndim = static_cast<std::int32_t>(exported->shape.size());
    tensor.dtype = dlpack_type(*array);
    tensor.shape = exported->shape.data();
    tensor.strides = exported->strides.data();
    tensor.byte_offset = 0;
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = [](dlpack::DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
    PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", [](PyObject* object) {
        if (PyCapsule_IsValid(object, "dltensor") == 0) return;
        auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(object, "dltensor"));
        managed->deleter(managed);
    });
    if (capsule == nullptr) throw py::error_already_set();
    static_cast<void>(exported.release());
    return py::reinterpret_steal<py::capsule>(capsule);
}

/// An attribute of an array that is looked at.
template <class Function>
auto touching(Function function) {
    return [function](const CompressArray& self) {
        self.touch();
        return function(self);
    };
}

/// The consumer's stream sees the bytes complete.
void order_for(const CompressArray& array, const py::object& stream) {
    if (array.device.kind == Device::Kind::cpu || array.capacity == 0) return;
    const auto handle = stream.is_none() ? 0 : stream.cast<std::int64_t>();
    if (handle == -1) return;
    // Memory of others' has no buffer that knows its work: there it is what is queued on the array's stream.
    const auto buffer = array.buffer != nullptr
                            ? array.buffer
                            : Buffer::borrow(array.data, array.capacity, array.memory, array.device, array.stream);
    buffer->wait_on({static_cast<std::uintptr_t>(handle)});
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
