// SPDX-License-Identifier: Apache-2.0
#include "compress_array.h"

#include <utility>

#include "arrays/export.h"
#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"

namespace tricodec::python {
namespace {

ImportOptions options_for(std::uintptr_t stream) {
    ImportOptions options;
    if (stream != 0) options.stream = StreamView{stream};
    return options;
}

/// The array in the form of the codecs.
ArrayPtr wrapped(ArrayView view) {
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
        if (view.shape[axis] > 1 && view.strides[axis] < 0) {
            throw py::value_error("an array with negative strides, " + shape_text(view.strides) +
                                  ", is not accepted; copy it first");
        }
    }
    if (view.typestr == kBfloat16) view.typestr = "<u2";  // a codec takes the bits of what numpy lacks
    auto array = std::make_shared<CompressArray>(CompressArray{std::move(view)});
    array->capacity = static_cast<std::size_t>(array->span_bytes());
    return array;
}

/// The CUDA array interface as nvCOMP's arrays have it: in host memory too, without strides where they say nothing.
py::dict interface_of(const CompressArray& array) {
    py::dict result = describe_interface(array);
    if (array.is_contiguous()) result["strides"] = py::none();
    result["stream"] = array.stream.handle == 0 ? std::uintptr_t{1} : array.stream.handle;  // the interface has no 0
    return result;
}

/// As nvCOMP numbers streams: 0 is the default stream, and host memory has none.
py::capsule export_array(const CompressArray& array, const py::object& stream, const py::object& max_version,
                         const py::object& dl_device, const py::object& copy) {
    array.touch();
    const bool is_default = py::isinstance<py::int_>(stream) && stream.equal(py::int_(0));
    const py::object named = array.on_gpu() && !is_default ? stream : py::none();
    return to_dlpack(array, named, max_version, dl_device, copy);
}

py::object to_cpu(const py::object& self) {
    const auto array = self.cast<ArrayPtr>();
    array->touch();
    if (array->device.kind == Device::Kind::cpu) return self;
    return py::cast(copied_to(array, {}, array->stream, true));
}

py::object to_cuda(const py::object& self, bool synchronize, std::uintptr_t stream) {
    const auto array = self.cast<ArrayPtr>();
    array->touch();
    if (array->device.kind == Device::Kind::cuda) return self;
    if (!gpu_present()) return py::none();
    const Device device{Device::Kind::cuda, CudaStream::borrow(stream)->device_index()};
    return py::cast(copied_to(array, device, {stream}, synchronize));
}

}  // namespace

ArrayPtr to_array(const py::object& source, std::uintptr_t stream) {
    if (py::isinstance<CompressArray>(source)) {
        auto array = source.cast<ArrayPtr>();
        array->touch();
        return array;
    }
    return wrapped(import_array(source, options_for(stream)));
}

std::vector<ArrayPtr> to_arrays(const py::sequence& sources) {
    std::vector<ArrayPtr> arrays;
    arrays.reserve(sources.size());
    py::detail::make_caster<ArrayPtr> own;  // looks the type up once
    for (const auto source : sources) {
        if (own.load(source, false)) {
            arrays.push_back(py::detail::cast_op<ArrayPtr>(own));
            arrays.back()->touch();
        } else {
            arrays.push_back(to_array(py::reinterpret_borrow<py::object>(source)));
        }
    }
    return arrays;
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

std::string to_element_type(const py::object& data_type) {
    const bool is_text = py::isinstance<py::str>(data_type);
    const auto text = is_text ? data_type.cast<std::string>() : "";
    if (data_type.is_none() || (is_text && text.empty())) return "|u1";
    return text == kFloat8 ? text : typestr_of(py::dtype::from_args(data_type));
}

void set_element_type(std::span<const ArrayPtr> arrays, const std::string& typestr) {
    if (arrays.empty()) return;
    CompressArray typed;
    typed.typestr = typestr;
    typed.itemsize = numpy_dtype(typed).itemsize();
    for (const ArrayPtr& array : arrays) {
        const std::int64_t bytes = array->size() * array->itemsize;
        if (typed.itemsize == 0 || bytes % typed.itemsize != 0) {
            throw py::value_error("Buffer size not aligned with size of data type: " + std::to_string(bytes) +
                                  " bytes are not a multiple of the size of " + typestr);
        }
        array->typestr = typed.typestr;
        array->itemsize = typed.itemsize;
        array->shape = {bytes / typed.itemsize};
        array->strides = {typed.itemsize};
    }
}

ArrayPtr contiguous(const ArrayPtr& array) {
    return array->is_contiguous() ? array : wrapped(contiguous_view(*array));
}

ArrayPtr copied_to(const ArrayPtr& array, Device device, StreamView stream, bool wait) {
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
        return copy;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device) throw;
        log(LogLevel::warning, "the array could not be copied to " + device.to_string() + ": " + error.what());
        return nullptr;
    }
}

bool gpu_present() {
    return !gpus().empty();
}

void bind_compress_array(py::module_& module) {
    const auto touching = [](auto function) {
        return [function](const CompressArray& self) {
            self.touch();
            return function(self);
        };
    };
    py::class_<CompressArray, ArrayView, ArrayPtr> cls(
        module, "CompressArray",
        R"(Bytes on the CPU or a GPU with a shape and an element type; what codecs take and give.

It wraps memory of any library without a copy, and shares its own likewise: ``bytes(a)``, ``memoryview(a)``,
``np.asarray(a)``, ``np.from_dlpack(a)``, ``torch.from_dlpack(a)``, ``cupy.asarray(a)``.

Thread safety: safe; the caller guards the elements.)");
    publish(cls);
    cls.attr("__name__") = "Array";  // as users meet it
    cls.attr("__qualname__") = "Array";
    cls.def(py::init([](const py::object& source, std::uintptr_t stream) {
                return std::make_shared<CompressArray>(*to_array(source, stream));
            }),
            py::arg("src_object"), py::arg("cuda_stream") = 0,
            R"(Wrap an object's memory; see `as_array`.

Args:
    src_object: any array, DLPack capsule or buffer.
    cuda_stream: cudaStream_t as an int, on which the memory is written.
Raises:
    TypeError: if it is none of these.)");
    cls.def_property_readonly("item_size", touching([](const CompressArray& self) { return self.itemsize; }),
                              "Bytes of an element.")
        .def_property_readonly("buffer_size", touching([](const CompressArray& self) { return self.span_bytes(); }),
                               "Bytes from the first element to the end of the last.")
        .def_property_readonly("capacity", touching([](const CompressArray& self) { return self.capacity; }),
                               "Bytes that the memory has room for.")
        .def_property_readonly(
            "precision", [](const CompressArray&) { return 0; },
            "Significant bits of an element; 0 is all bits of the type.")
        .def_property_readonly(
            "buffer_kind", touching([](const CompressArray& self) {
                const auto kinds = py::module_::import("tricodec.compress._enums").attr("ArrayBufferKind");
                return kinds.attr(self.device.kind == Device::Kind::cpu ? "STRIDED_HOST" : "STRIDED_DEVICE");
            }),
            "Where the memory is, an `ArrayBufferKind`.")
        .def_property_readonly("__cuda_array_interface__", touching(interface_of),
                               "CUDA array interface, version 3; in host memory with the address there, as in nvCOMP.")
        .def("__dlpack__", export_array, py::arg("stream") = py::none(), py::kw_only(),
             py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
             "Export as a DLPack capsule, as other arrays do. As in nvCOMP, stream 0 is the default stream, and in "
             "host memory any stream is accepted.")
        .def(
            "to_dlpack",
            [](const CompressArray& self, const py::object& stream) {
                return export_array(self, stream, py::none(), py::none(), py::none());
            },
            py::arg("cuda_stream") = py::none(),
            R"(Export as a DLPack capsule; nothing is copied.

Args:
    cuda_stream: cudaStream_t as an int, for which the bytes are complete.
Returns:
    A capsule, good for one import.)")
        .def("cpu", to_cpu,
             "This array in host memory: itself if it is there, else a copy.\n\n"
             "Returns:\n"
             "    The array, or None if the copy failed; the log says why.")
        .def("cuda", to_cuda, py::arg("synchronize") = true, py::arg("cuda_stream") = 0,
             R"(This array in device memory: itself if it is there, else a copy.

Args:
    synchronize: wait for the copy.
    cuda_stream: cudaStream_t as an int that the copy is queued on; it also chooses the device.
Returns:
    The array, or None without a GPU or if the copy failed; the log says why.)")
        .def("__repr__", [](const CompressArray& self) {
            self.touch();
            return "<tricodec.Array " + self.typestr + " " + shape_text(self.shape) + " on " + self.device.to_string() +
                   ">";
        });

    module.def("as_array", py::overload_cast<const py::object&, std::uintptr_t>(&to_array), py::arg("source"),
               py::arg("cuda_stream") = 0,
               R"(Wrap an object's memory as an `Array`, which keeps the object; nothing is copied.

Args:
    source: an array with __cuda_array_interface__, __array_interface__ or __dlpack__, a DLPack capsule, or a buffer
        such as bytes.
    cuda_stream: cudaStream_t as an int; what is queued on it writes the memory, and work on the Array waits for that.
Returns:
    The Array.
Raises:
    TypeError: if it is none of these.)");
    module.def(
        "dlpack_as_array",
        [](const py::object& source, std::uintptr_t stream) {
            return wrapped(import_dlpack(source, options_for(stream)));
        },
        py::arg("source"), py::arg("cuda_stream") = 0, "What `tricodec.compress.from_dlpack` calls.");
}

}  // namespace tricodec::python
