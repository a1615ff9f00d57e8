// SPDX-License-Identifier: Apache-2.0
/// Arrays of other libraries as CompressArray, by whichever protocol they have.
#include <pybind11/numpy.h>

#include <utility>

#include "compress_array.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/dlpack.h"
#include "tricodec/gpu.h"

namespace tricodec::python {
namespace {

Extents c_strides(const Extents& shape, std::int64_t itemsize) {
    Extents strides = shape;
    auto step = static_cast<std::uint64_t>(itemsize);  // finished() looks whether it went round
    for (std::size_t axis = shape.size(); axis-- > 0; step *= static_cast<std::uint64_t>(shape[axis])) {
        strides[axis] = static_cast<std::int64_t>(step);
    }
    return strides;
}

/// After shape and strides are known: what lies behind `data`.
ArrayPtr finished(CompressArray array) {
    if (array.strides.size() != array.shape.size()) {
        throw py::value_error("an array of shape " + shape_text(array.shape) + " has " +
                              std::to_string(array.strides.size()) + " strides; it must have one for each axis");
    }
    std::int64_t last = array.itemsize;  // bytes to the end of the last element
    bool fits = true;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        const std::int64_t extent = array.shape[axis];
        if (extent < 0) {
            throw py::value_error("an array's shape is " + shape_text(array.shape) + "; extents must not be negative");
        }
        if (extent > 1 && array.strides[axis] < 0) {
            throw py::value_error("an array with negative strides is not accepted; copy it first");
        }
        std::int64_t reach = 0;
        fits = fits && !(extent > 1 && (__builtin_mul_overflow(extent - 1, array.strides[axis], &reach) ||
                                        __builtin_add_overflow(last, reach, &last)));
    }
    // As many elements as a repeated one (a stride of 0) makes are copied one by one before anything is done.
    std::int64_t bytes = array.itemsize;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        fits = fits && !__builtin_mul_overflow(bytes, array.shape[axis], &bytes);
    }
    if (!fits) {
        throw py::value_error("an array of shape " + shape_text(array.shape) + " and " +
                              std::to_string(array.itemsize) + " bytes an element is larger than any memory");
    }
    array.capacity = static_cast<std::size_t>(array.span_bytes());
    return std::make_shared<CompressArray>(std::move(array));
}

/// From the dict of __array_interface__ or __cuda_array_interface__.
ArrayPtr from_interface(const py::dict& interface, const py::object& source, bool cuda, std::uintptr_t stream) {
    CompressArray array;
    array.typestr = interface["typestr"].cast<std::string>();
    array.itemsize = numpy_dtype(array).itemsize();
    for (const auto extent : py::tuple(interface["shape"])) array.shape.push_back(extent.cast<std::int64_t>());
    array.strides = c_strides(array.shape, array.itemsize);
    if (interface.contains("strides") && !interface["strides"].is_none()) {
        array.strides = {};
        for (const auto step : py::tuple(interface["strides"])) array.strides.push_back(step.cast<std::int64_t>());
    }
    if (!interface.contains("data") || interface["data"].is_none() || !py::isinstance<py::tuple>(interface["data"])) {
        throw py::type_error("the array interface of " + shown(source) + " tells no address");
    }
    const py::tuple data = interface["data"];
    array.data = reinterpret_cast<std::byte*>(data[0].cast<std::uintptr_t>());
    array.read_only = data[1].cast<bool>();
    array.memory = share_object(source);
    if (cuda) {
        array.device = device_of_memory(array.data);
        array.stream = {stream};
        if (interface.contains("stream") && !interface["stream"].is_none()) {
            const StreamView writer{interface["stream"].cast<std::uintptr_t>()};
            if (stream == 0) {
                array.stream = writer;
            } else if (array.device.kind == Device::Kind::cuda && array.size() > 0 && writer.handle != stream) {
                // The caller's stream goes on once the one that the source names is done.
                const auto size = static_cast<std::size_t>(array.span_bytes());
                Buffer::borrow(array.data, size, array.memory, array.device, writer)->wait_on(array.stream);
            }
        }
    }
    return finished(std::move(array));
}

std::string typestr_of(const dlpack::DLDataType& type) {
    const std::string size = std::to_string(type.bits / 8);
    const std::string order = type.bits > 8 ? "<" : "|";
    if (type.lanes != 1 || type.bits % 8 != 0)
        throw py::type_error("vector and sub-byte DLPack types are not accepted");
    switch (type.code) {
        case 0:
            return order + "i" + size;
        case 1:
            return order + "u" + size;
        case 2:
            return order + "f" + size;
        case 5:
            return order + "c" + size;
        case 6:
            return "|b1";
        case 10:  // float8_e4m3fn
            return "|f1";
        default:  // bfloat16 and others without a name in numpy: their bits
            return order + "u" + size;
    }
}

template <class Managed>
std::shared_ptr<void> hold_managed(Managed* managed) {
    return {managed, [](void* held) {
                auto* tensor = static_cast<Managed*>(held);
                if (tensor->deleter == nullptr) return;
                if (PyGILState_Check() != 0) {
                    tensor->deleter(tensor);
                } else if (interpreter_usable()) {
                    with_lock([&] { tensor->deleter(tensor); });
                }
            }};
}

ArrayPtr from_capsule(const py::object& capsule, std::uintptr_t stream) {
    constexpr const char* kVersioned = "dltensor_versioned";
    constexpr const char* kUnversioned = "dltensor";
    CompressArray array;
    const dlpack::DLTensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), kVersioned) != 0) {
        auto* managed = static_cast<dlpack::DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kVersioned));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        array.memory = hold_managed(managed);
        array.read_only = (managed->flags & dlpack::kFlagReadOnly) != 0;
        tensor = &managed->dl_tensor;
    } else if (PyCapsule_IsValid(capsule.ptr(), kUnversioned) != 0) {
        auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kUnversioned));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");
        array.memory = hold_managed(managed);
        tensor = &managed->dl_tensor;
    } else {
        throw py::value_error(
            "Could not get DLTensor capsules. It can be consumed only once, so this might have already been "
            "constructed "
            "from it once.");
    }
    array.typestr = typestr_of(tensor->dtype);
    array.itemsize = tensor->dtype.bits / 8;
    array.shape = Extents(tensor->shape, tensor->shape + tensor->ndim);
    array.strides = c_strides(array.shape, array.itemsize);
    if (tensor->strides != nullptr) {
        for (std::size_t axis = 0; axis < array.shape.size(); ++axis)
            array.strides[axis] = tensor->strides[axis] * array.itemsize;
    }
    array.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
    const auto type = tensor->device.device_type;
    if (type == dlpack::kCuda) {
        array.device = {Device::Kind::cuda, tensor->device.device_id};
        array.stream = {stream};
    } else if (type != dlpack::kCpu && type != dlpack::kCudaHost && type != 13 /* managed */) {
        throw py::value_error("memory of DLPack device type " + std::to_string(type) + " is not accepted");
    }
    return finished(std::move(array));
}

ArrayPtr array_from_buffer(const py::object& source) {
    auto buffer = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(source.ptr(), buffer.get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
    std::shared_ptr<Py_buffer> held(buffer.release(), [](Py_buffer* b) {
        const auto release = [b] {
            PyBuffer_Release(b);
            delete b;
        };
        if (PyGILState_Check() != 0) {
            release();
        } else if (interpreter_usable()) {
            with_lock(release);
        }
    });
    CompressArray array;
    array.data = static_cast<std::byte*>(held->buf);
    array.itemsize = held->itemsize;
    array.read_only = held->readonly != 0;
    array.shape = Extents(held->shape, held->shape + held->ndim);
    array.strides = held->strides == nullptr ? c_strides(array.shape, array.itemsize)
                                             : Extents(held->strides, held->strides + held->ndim);
    const std::string format = held->format == nullptr ? "B" : held->format;
    if (format != "B" && format != "b" && format != "c") {
        try {
            const auto memory = py::reinterpret_steal<py::object>(PyMemoryView_FromBuffer(held.get()));
            array.typestr = py::dtype::from_args(py::str(format)).attr("str").cast<std::string>();
        } catch (const py::error_already_set&) {
            array.typestr = "|V" + std::to_string(array.itemsize);
        }
    }
    array.memory = held;
    return finished(std::move(array));
}

[[noreturn]] void refuse(const py::object& source) {
    throw py::type_error(
        shown(source) +
        " is no array: it has no __cuda_array_interface__, __array_interface__, __dlpack__ or buffer, and is no DLPack "
        "capsule");
}

}  // namespace

py::dtype numpy_dtype(const CompressArray& array) {
    // numpy has no 8-bit float; its bits are shown.
    return py::dtype::from_args(py::str(array.typestr == "|f1" ? "|u1" : array.typestr));
}

ArrayPtr to_array(const py::object& source, std::uintptr_t stream) {
    if (py::isinstance<CompressArray>(source)) {
        auto array = source.cast<ArrayPtr>();
        array->touch();
        return array;
    }
    if (PyCapsule_CheckExact(source.ptr()) != 0) return from_capsule(source, stream);
    if (py::hasattr(source, "__cuda_array_interface__")) {
        return from_interface(source.attr("__cuda_array_interface__"), source, true, stream);
    }
    if (py::hasattr(source, "__array_interface__")) {
        return from_interface(source.attr("__array_interface__"), source, false, stream);
    }
    if (py::hasattr(source, "__dlpack__") && py::hasattr(source, "__dlpack_device__"))
        return from_dlpack(source, stream);
    if (PyObject_CheckBuffer(source.ptr()) != 0) return array_from_buffer(source);
    refuse(source);
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

ArrayPtr from_dlpack(const py::object& source, std::uintptr_t stream) {
    using namespace py::literals;
    if (PyCapsule_CheckExact(source.ptr()) != 0) return from_capsule(source, stream);
    if (!py::hasattr(source, "__dlpack__") || !py::hasattr(source, "__dlpack_device__")) refuse(source);
    const py::tuple device = source.attr("__dlpack_device__")();
    const auto dlpack = source.attr("__dlpack__");
    if (device[0].cast<int>() != dlpack::kCuda) {
        try {
            return from_capsule(dlpack("max_version"_a = py::make_tuple(1, 0)), stream);
        } catch (const py::error_already_set& error) {
            if (!error.matches(PyExc_TypeError)) throw;
            return from_capsule(dlpack(), stream);  // an exporter from before version 1 does not know the word
        }
    }
    // torch exports only what is on its current device.
    const CurrentGpu current({Device::Kind::cuda, device[1].cast<int>()});
    // The protocol's word for the default stream is 1; 0 is not allowed.
    return from_capsule(dlpack("stream"_a = stream == 0 ? std::uintptr_t{1} : stream), stream);
}

}  // namespace tricodec::python
