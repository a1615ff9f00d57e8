// SPDX-License-Identifier: Apache-2.0
#include "arrays/import.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "arrays/cuda_streams.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/gpu.h"
#include "tricodec/tensor/dlpack.h"

namespace tricodec::python {
namespace {

constexpr std::int32_t kDlpackCudaManaged = 13;

/// Keeps `object`, which `release` ends with the interpreter's lock, on whatever thread the last reference goes.
template <class T, class Release>
std::shared_ptr<const void> hold(T* object, Release release) {
    return {object, [release](T* held) {
                if (PyGILState_Check() != 0) {
                    release(held);
                } else if (interpreter_usable()) {
                    with_lock([&] { release(held); });
                }
            }};
}

bool has_dlpack(const py::object& source) {
    return has_attribute(source, "__dlpack__") && has_attribute(source, "__dlpack_device__");
}

/// Refuses descriptions that contradict themselves, have no memory, or reach past all memory.
ArrayView checked(ArrayView array, const char* name) {
    const auto about = [&] { return std::string(name) + " has shape " + shape_text(array.shape); };
    if (array.strides.size() != array.shape.size()) {
        throw py::value_error(about() + " and " + std::to_string(array.strides.size()) +
                              " strides; it must have one for each axis");
    }
    std::int64_t last = array.itemsize;   // bytes to the end of the last element
    std::int64_t total = array.itemsize;  // bytes of all elements: a stride of 0 repeats one, and a copy holds them all
    bool fits = true;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        const std::int64_t extent = array.shape[axis];
        if (extent < 0) throw py::value_error(about() + "; extents must not be negative");
        std::int64_t reach = 0;
        fits = fits && !__builtin_mul_overflow(total, extent, &total) &&
               (extent <= 1 || (!__builtin_mul_overflow(extent - 1, array.strides[axis], &reach) &&
                                !__builtin_add_overflow(last, reach, &last)));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(array.data);
    std::uintptr_t end = 0;
    if (!fits || __builtin_add_overflow(
                     address, static_cast<std::uintptr_t>(std::max<std::int64_t>(0, array.span_bytes())), &end)) {
        throw py::value_error(about() + " and " + std::to_string(array.itemsize) +
                              " bytes an element, which is larger than any memory");
    }
    if (address == 0 && array.size() > 0) throw py::value_error(about() + " at address 0, which is no memory");
    return array;
}

ArrayView import_numpy(const py::array& source) {
    ArrayView array;
    // Nothing is written through this pointer if the array is read-only: read_only says so.
    array.data = static_cast<std::byte*>(const_cast<void*>(source.data()));
    array.typestr = typestr_of(source.dtype());
    array.itemsize = source.itemsize();
    array.shape = Extents(source.shape(), source.shape() + source.ndim());
    array.strides = source.size() == 0 ? contiguous_extents(array.shape, array.itemsize)  // numpy's are 0
                                       : Extents(source.strides(), source.strides() + source.ndim());
    array.read_only = !source.writeable();
    array.memory = share_object(source);
    return array;
}

/// The typestr of a buffer's elements. ctypes and numpy write 'l' for 8 bytes, so the size of a number is the buffer's.
std::string typestr_of_buffer(const py::object& source, std::string_view format, std::int64_t itemsize) {
    const std::string_view whole = format;
    const bool swapped = !format.empty() && (format[0] == '>' || format[0] == '!');
    if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
    const auto is_one_of = [&](std::string_view letters) {
        return format.size() == 1 && letters.find(format[0]) != std::string_view::npos;
    };
    const char kind = is_one_of("BHILQNc")               ? 'u'
                      : is_one_of("bhilqn")              ? 'i'
                      : is_one_of("efdg")                ? 'f'
                      : is_one_of("?")                   ? 'b'
                      : format == "Zf" || format == "Zd" ? 'c'
                                                         : '\0';
    if (kind == '\0') {  // numpy reads strings and structs, and knows no pointers
        const auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(source.ptr()));
        const auto array = view ? py::array::ensure(view) : py::array();
        if (array && array.itemsize() == itemsize && !array.dtype().attr("hasobject").cast<bool>()) {
            return typestr_of(array.dtype());
        }
        clear_error();
        throw py::type_error("a buffer with elements of format '" + std::string(whole) +
                             "' is not accepted, because they are no numbers, strings or structs of them");
    }
    const char order = itemsize == 1 ? '|' : swapped ? '>' : '<';
    return {std::string{order, kind} + std::to_string(itemsize)};
}

ArrayView import_buffer(const py::object& source, const char* name) {
    auto fresh = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(source.ptr(), fresh.get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
    Py_buffer* buffer = fresh.release();
    ArrayView array;
    array.memory = hold(buffer, [](Py_buffer* held) {
        PyBuffer_Release(held);
        delete held;
    });
    if (buffer->suboffsets != nullptr) {
        throw py::value_error(std::string(name) + " is made of pointers (PIL style); pass one array");
    }
    array.data = static_cast<std::byte*>(buffer->buf);
    array.itemsize = buffer->itemsize;
    array.typestr = typestr_of_buffer(source, buffer->format == nullptr ? "B" : buffer->format, buffer->itemsize);
    array.read_only = buffer->readonly != 0;
    array.shape = Extents(buffer->shape, buffer->shape + buffer->ndim);
    // ctypes gives no strides, though they are asked for: its arrays are C-contiguous.
    array.strides = buffer->strides == nullptr ? contiguous_extents(array.shape, array.itemsize)
                                               : Extents(buffer->strides, buffer->strides + buffer->ndim);
    return array;
}

/// From the dict of __array_interface__ or __cuda_array_interface__, which have the same entries.
ArrayView import_interface(const py::object& source, const char* attribute, const char* name) {
    const py::object given = source.attr(attribute);
    if (!py::isinstance<py::dict>(given)) {
        throw py::type_error(std::string(name) + " has an " + attribute + " that is no dict, but " + shown(given));
    }
    const auto interface = py::reinterpret_borrow<py::dict>(given);
    const auto refuse_entry = [&](const char* key, const char* accepted, const py::handle& value) {
        throw py::type_error(std::string(name) + " has an " + attribute + " with '" + key + "' " + shown(value) +
                             "; it must be " + accepted);
    };
    const auto entry = [&](const char* key) -> py::object {
        return interface.contains(key) ? py::object(interface[key]) : py::none();
    };
    const auto read_extents = [&](const char* key, Extents& extents) {
        const py::object values = entry(key);
        if (!py::isinstance<py::tuple>(values) && !py::isinstance<py::list>(values)) {
            refuse_entry(key, "a tuple of ints", values);
        }
        for (const auto value : values) {
            if (PyIndex_Check(value.ptr()) == 0) refuse_entry(key, "a tuple of ints", values);
            extents.push_back(value.cast<std::int64_t>());
        }
    };
    const py::object data = entry("data");
    if (!py::isinstance<py::tuple>(data) || py::len(data) != 2 || PyIndex_Check(py::tuple(data)[0].ptr()) == 0) {
        refuse_entry("data", "a tuple (address, read_only)", data);
    }
    if (!entry("mask").is_none()) refuse_entry("mask", "None: arrays with a mask are not accepted", entry("mask"));
    ArrayView array;
    array.data = reinterpret_cast<std::byte*>(py::tuple(data)[0].cast<std::uintptr_t>());
    array.read_only = py::tuple(data)[1].cast<bool>();
    const py::object typestr = entry("typestr");
    if (!py::isinstance<py::str>(typestr)) refuse_entry("typestr", "a str such as '<f4'", typestr);
    auto dtype = py::dtype::from_args(typestr);
    const py::object fields = entry("descr");  // without fields it is [("", typestr)]
    if (dtype.kind() == 'V' && py::isinstance<py::list>(fields) &&
        !fields.equal(py::list(py::make_tuple(py::make_tuple("", typestr))))) {
        const auto fielded = py::dtype::from_args(fields);
        if (fielded.itemsize() != dtype.itemsize()) refuse_entry("descr", "of as many bytes as 'typestr'", fields);
        dtype = fielded;
    }
    array.typestr = typestr_of(dtype);
    array.itemsize = dtype.itemsize();
    if (array.itemsize == 0) refuse_entry("typestr", "of elements of at least one byte", typestr);
    read_extents("shape", array.shape);
    if (!entry("strides").is_none()) {
        read_extents("strides", array.strides);
    } else {
        array.strides = contiguous_extents(array.shape, array.itemsize);
    }
    array.memory = share_object(source);
    return checked(std::move(array), name);
}

ArrayView import_cuda_interface(const py::object& source, const ImportOptions& options) {
    ArrayView array = import_interface(source, "__cuda_array_interface__", options.name);
    array.device = device_of_memory(array.data);  // the arrays of nvCOMP have the interface in host memory too
    array.stream = options.stream.value_or(StreamView{});
    if (!array.on_gpu()) return array;
    const auto interface = source.attr("__cuda_array_interface__").cast<py::dict>();
    if (!interface.contains("stream") || interface["stream"].is_none()) return array;
    const auto producer = to_stream(interface["stream"]).value_or(kLegacyStream);
    if (!options.stream) {
        array.stream = producer;
    } else if (producer != array.stream && array.size() > 0) {
        const Released released;
        const auto size = static_cast<std::size_t>(array.span_bytes());
        Buffer::borrow(array.data, size, array.memory, array.device, producer)->wait_on(array.stream);
    }
    return array;
}

std::string typestr_of(const dlpack::DLDataType& type, const char* name) {
    constexpr std::uint8_t kOpaqueHandle = 3;
    const bool odd_size = type.code <= 2 && (type.bits > 64 || (type.bits & (type.bits - 1)) != 0) && type.bits != 128;
    if (type.lanes != 1 || type.bits == 0 || type.bits % 8 != 0 || type.code == kOpaqueHandle || odd_size ||
        (type.code == 6 && type.bits != 8)) {
        throw py::type_error(std::string(name) + " has elements of DLPack type code " + std::to_string(type.code) +
                             " with " + std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) +
                             " lanes; numbers of whole bytes and one lane are accepted");
    }
    if (type.code == 4 && type.bits == 16) return kBfloat16;
    if (type.code == 10) return kFloat8;
    // Unsigned integers are also the bits of numbers without a name in numpy.
    constexpr std::string_view kKinds = "iufuucb";
    const char kind = type.code < kKinds.size() ? kKinds[type.code] : 'u';
    return std::string{type.bits > 8 ? '<' : '|', kind} + std::to_string(type.bits / 8);
}

/// Takes over what a capsule of type `Managed` holds; null if it holds another type.
template <class Managed>
Managed* take(const py::object& capsule, const char* name, const char* used_name) {
    if (PyCapsule_IsValid(capsule.ptr(), name) == 0) return nullptr;
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
    PyCapsule_SetName(capsule.ptr(), used_name);
    return managed;
}

template <class Managed>
std::shared_ptr<const void> hold_managed(Managed* managed) {
    return hold(managed, [](Managed* held) {
        if (held->deleter != nullptr) held->deleter(held);
    });
}

ArrayView import_capsule(const py::object& capsule, const ImportOptions& options) {
    const std::string name = options.name;
    ArrayView array;
    const dlpack::DLTensor* tensor = nullptr;
    if (auto* versioned =
            take<dlpack::DLManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned")) {
        array.memory = hold_managed(versioned);
        if (versioned->version.major != 1) {
            throw py::type_error(name + " exports DLPack version " + std::to_string(versioned->version.major) +
                                 "; versions 0 and 1 are understood");
        }
        array.read_only = (versioned->flags & dlpack::kFlagReadOnly) != 0;
        tensor = &versioned->dl_tensor;
    } else if (auto* managed = take<dlpack::DLManagedTensor>(capsule, "dltensor", "used_dltensor")) {
        array.memory = hold_managed(managed);
        tensor = &managed->dl_tensor;
    } else if (PyCapsule_CheckExact(capsule.ptr()) != 0) {  // as nvCOMP words it
        throw py::value_error(
            "Could not get DLTensor capsules. It can be consumed only once, so this might have already been "
            "constructed from it once.");
    } else {
        throw py::type_error("__dlpack__() of " + name + " returned " + shown(capsule) + ", not a DLPack capsule");
    }
    if (tensor->ndim < 0 || (tensor->ndim > 0 && tensor->shape == nullptr)) {
        throw py::value_error(name + " has a DLPack tensor of " + std::to_string(tensor->ndim) + " axes without sizes");
    }
    array.typestr = typestr_of(tensor->dtype, options.name);
    array.itemsize = tensor->dtype.bits / 8;
    array.shape = Extents(tensor->shape, tensor->shape + tensor->ndim);
    array.strides = contiguous_extents(array.shape, array.itemsize);
    for (std::size_t axis = 0; tensor->strides != nullptr && axis < array.shape.size(); ++axis) {
        array.strides[axis] = tensor->strides[axis] * array.itemsize;
    }
    array.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
    const auto type = tensor->device.device_type;
    if (type == dlpack::kCuda) {
        array.device = {Device::Kind::cuda, tensor->device.device_id};
        array.stream = options.stream.value_or(StreamView{});
    } else if (type != dlpack::kCpu && type != dlpack::kCudaHost && type != kDlpackCudaManaged) {
        throw py::value_error(name + " is on DLPack device type " + std::to_string(type) +
                              "; memory on the CPU or a CUDA GPU is accepted");
    }
    return checked(std::move(array), options.name);
}

[[noreturn]] void refuse(const py::object& source, const char* name) {
    throw py::type_error(std::string(name) +
                         " must be an array (a numpy array, a torch tensor, or an object with __dlpack__, the buffer "
                         "protocol, __array_interface__ or __cuda_array_interface__), not " +
                         std::string(Py_TYPE(source.ptr())->tp_name) + " " + shown(source));
}

}  // namespace

Device device_of(const py::object& source, const char* name) {
    if (py::isinstance<py::array>(source)) return {};
    if (has_dlpack(source)) {
        const auto place = py::tuple(source.attr("__dlpack_device__")());
        const auto type = place[0].cast<int>();
        if (type == dlpack::kCuda) return {Device::Kind::cuda, place[1].cast<int>()};
        if (type == dlpack::kCpu || type == dlpack::kCudaHost || type == kDlpackCudaManaged) return {};
        throw py::value_error(std::string(name) + " is on a device of DLPack type " + std::to_string(type) +
                              "; memory on the CPU or a CUDA GPU is accepted");
    }
    if (!has_attribute(source, "__cuda_array_interface__")) return {};
    const auto array = import_interface(source, "__cuda_array_interface__", name);
    if (const auto device = gpu_of(array.data)) return *device;
    throw py::value_error(std::string(name) + " has a __cuda_array_interface__ with an address that is not of a GPU " +
                          "of this process: " + shown(source));
}

ArrayView import_dlpack(const py::object& source, const ImportOptions& options) {
    using namespace py::literals;
    if (PyCapsule_CheckExact(source.ptr()) != 0) return import_capsule(source, options);
    if (!has_dlpack(source)) refuse(source, options.name);
    const Device device = device_of(source, options.name);
    py::dict keywords;
    if (device.kind == Device::Kind::cuda) {
        const auto handle = options.stream.value_or(kLegacyStream).handle;
        keywords["stream"] = handle == 0 ? kLegacyStream.handle : handle;  // the standard has no 0
    }
    const CurrentGpu current(device);  // torch exports only what is on its current device
    const auto dlpack = source.attr("__dlpack__");
    try {
        return import_capsule(dlpack("max_version"_a = py::make_tuple(1, 0), **keywords), options);
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
    }
    return import_capsule(dlpack(**keywords), options);  // exporters from before version 1 have no max_version
}

ArrayView import_array(const py::object& source, const ImportOptions& options) {
    if (py::isinstance<py::array>(source)) return import_numpy(py::reinterpret_borrow<py::array>(source));
    if (PyBytes_CheckExact(source.ptr()) != 0) return import_buffer(source, options.name);  // has no other protocol
    if (PyCapsule_CheckExact(source.ptr()) != 0 || has_dlpack(source)) return import_dlpack(source, options);
    if (has_attribute(source, "__cuda_array_interface__")) return import_cuda_interface(source, options);
    if (PyObject_CheckBuffer(source.ptr()) != 0) return import_buffer(source, options.name);
    if (has_attribute(source, "__array_interface__") && !options.convert) {
        return import_interface(source, "__array_interface__", options.name);
    }
    if (!options.convert) refuse(source, options.name);
    const auto array = py::array::ensure(source);
    if (!array || array.dtype().kind() == 'O') refuse(source, options.name);
    return import_numpy(array);
}

ArrayView import_for_work(const py::object& source, ImportOptions options) {
    if (const Device device = device_of(source, options.name); device.kind == Device::Kind::cuda && !options.stream) {
        const Released released;
        options.stream = thread_stream(device);
    }
    return import_array(source, options);
}

ArrayView copied(const ArrayView& array) {
    const py::capsule base(array.data, [](void*) {});  // a base of any kind keeps numpy from copying twice
    const auto copy = py::module_::import("numpy").attr("array")(view_as_numpy(array, base), py::arg("order") = "C");
    ArrayView result = import_array(copy, {});
    result.typestr = array.typestr;
    return result;
}

ArrayView contiguous_view(ArrayView array) {
    if (array.is_contiguous()) return array;
    if (array.on_gpu()) {
        throw py::value_error("an array on a GPU must be C-contiguous; its strides are " + shape_text(array.strides));
    }
    return copied(array);
}

}  // namespace tricodec::python
