// SPDX-License-Identifier: Apache-2.0
#include "destination.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "convert.h"
#include "tricodec/dlpack.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

/// What an object says of its memory, before anything is asked of it.
struct Offer {
    Destination to;
    std::optional<DType> dtype;  ///< none if the core has no such element type
    std::string dtype_name;
    std::int64_t itemsize = 1;
    bool read_only = false;
};

Offer from_numpy(const py::array& array) {
    Offer offer;
    const py::dtype dtype = array.dtype();
    offer.dtype = find_numpy_dtype(dtype);
    if (!offer.dtype) offer.dtype_name = py::str(dtype).cast<std::string>();
    offer.itemsize = array.itemsize();
    offer.read_only = !array.writeable();
    TensorView& view = offer.to.view;
    // Where it is read-only, nothing is written through this pointer: the check comes first.
    view.data = const_cast<void*>(array.data());
    view.shape.assign(array.shape(), array.shape() + array.ndim());
    view.strides_bytes.assign(array.strides(), array.strides() + array.ndim());
    return offer;  // the caller's reference keeps the array
}

template <class Managed>
std::shared_ptr<void> hold(Managed* managed) {
    return {managed, [](void* held) {
                auto* tensor = static_cast<Managed*>(held);
                if (tensor->deleter != nullptr) tensor->deleter(tensor);
            }};
}

py::object export_of(const py::object& out) {
    using namespace py::literals;
    const auto dlpack = out.attr("__dlpack__");
    try {
        return dlpack("max_version"_a = py::make_tuple(1, 0));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
        return dlpack();  // an exporter from before version 1 does not know the word
    }
}

Offer from_dlpack(const py::object& out) {
    const auto place = py::tuple(out.attr("__dlpack_device__")());
    if (const auto type = place[0].cast<int>(); type != dlpack::kCpu && type != dlpack::kCudaHost) {
        Offer elsewhere;  // where it is says all: an export would have to wait for the device's work
        if (type != dlpack::kCuda) {
            throw py::value_error("out is on a device of DLPack type " + std::to_string(type) +
                                  "; the result is written to memory on cpu");
        }
        elsewhere.to.view.device = {Device::Kind::cuda, place[1].cast<int>()};
        return elsewhere;
    }
    const py::object capsule = export_of(out);
    constexpr const char* kVersioned = "dltensor_versioned";
    constexpr const char* kUnversioned = "dltensor";
    Offer offer;
    const dlpack::DLTensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), kVersioned) != 0) {
        auto* managed = static_cast<dlpack::DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kVersioned));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        offer.to.held = hold(managed);
        if (managed->version.major != 1) {
            throw py::type_error("out exports DLPack version " + std::to_string(managed->version.major) +
                                 "; versions 0 and 1 are understood");
        }
        offer.read_only = (managed->flags & dlpack::kFlagReadOnly) != 0;
        tensor = &managed->dl_tensor;
    } else if (PyCapsule_IsValid(capsule.ptr(), kUnversioned) != 0) {
        auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kUnversioned));
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");
        offer.to.held = hold(managed);
        tensor = &managed->dl_tensor;
    } else {
        throw py::type_error("out.__dlpack__() returned " + shown(capsule) + ", which is no DLPack capsule");
    }
    try {
        offer.to.view = dlpack::import_tensor(*tensor);
    } catch (const Error& error) {
        throw py::type_error(std::string("out cannot hold the result: ") + error.what());
    }
    offer.dtype = offer.to.view.dtype;
    offer.itemsize = static_cast<std::int64_t>(size_of(*offer.dtype));
    return offer;
}

/// The element type of a struct format of one native number.
std::optional<DType> from_buffer_format(std::string_view format, std::int64_t itemsize) {
    if (!format.empty() && std::string_view("@=<").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
    if (format.size() != 1) return std::nullopt;
    if (std::string_view("BHILQ").find(format[0]) != std::string_view::npos) {
        if (itemsize == 1) return DType::uint8;
        return itemsize == 2 ? std::optional(DType::uint16) : std::nullopt;
    }
    switch (format[0]) {
        case 'h':
        case 'i':
        case 'l':
        case 'q':
            if (itemsize == 2) return DType::int16;
            if (itemsize == 4) return DType::int32;
            return itemsize == 8 ? std::optional(DType::int64) : std::nullopt;
        case 'e':
            return DType::float16;
        case 'f':
            return DType::float32;
        case 'd':
            return DType::float64;
        default:
            return std::nullopt;
    }
}

Offer from_buffer(const py::object& out) {
    const auto release = [](Py_buffer* buffer) {
        PyBuffer_Release(buffer);
        delete buffer;
    };
    auto fresh = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(out.ptr(), fresh.get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
    const std::shared_ptr<Py_buffer> buffer(fresh.release(), release);
    if (buffer->suboffsets != nullptr) throw py::value_error("out is made of pointers (PIL style); pass one array");
    Offer offer;
    offer.to.held = buffer;
    const char* format = buffer->format == nullptr ? "B" : buffer->format;
    offer.dtype = from_buffer_format(format, buffer->itemsize);
    if (!offer.dtype) offer.dtype_name = std::string("of struct format '") + format + "'";
    offer.itemsize = buffer->itemsize;
    offer.read_only = buffer->readonly != 0;
    TensorView& view = offer.to.view;
    view.data = buffer->buf;
    view.shape.assign(buffer->shape, buffer->shape + buffer->ndim);
    if (buffer->strides != nullptr) {
        view.strides_bytes.assign(buffer->strides, buffer->strides + buffer->ndim);
        return offer;
    }
    // ctypes gives none, though it is asked for them: then the array is C-contiguous.
    view.strides_bytes.resize(view.shape.size());
    std::int64_t step = buffer->itemsize;
    for (std::size_t axis = view.shape.size(); axis-- > 0; step *= view.shape[axis]) view.strides_bytes[axis] = step;
    return offer;
}

Offer offer_of(const py::object& out) {
    if (py::isinstance<py::array>(out)) return from_numpy(py::reinterpret_borrow<py::array>(out));
    if (py::hasattr(out, "__dlpack__") && py::hasattr(out, "__dlpack_device__")) return from_dlpack(out);
    if (PyObject_CheckBuffer(out.ptr()) != 0) return from_buffer(out);
    if (py::hasattr(out, "__array_interface__")) {
        const auto array = py::module_::import("numpy").attr("asarray")(out).cast<py::array>();
        Offer offer = from_numpy(array);
        offer.to.held = std::make_shared<py::array>(array);
        return offer;
    }
    throw py::type_error(
        "out must be a numpy array, a torch tensor or another writable array (__dlpack__, the buffer protocol or "
        "__array_interface__), not " +
        std::string(Py_TYPE(out.ptr())->tp_name));
}

/// True if two elements may share bytes. Taken from the smallest stride on, each axis must step over all that the axes
/// before it span.
bool may_overlap(const TensorView& view, std::int64_t itemsize) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // (stride, extent)
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
        if (view.shape[axis] == 0) return false;
        if (view.shape[axis] > 1) axes.emplace_back(std::abs(view.strides_bytes[axis]), view.shape[axis]);
    }
    std::sort(axes.begin(), axes.end());
    std::int64_t span = itemsize;
    for (const auto& [stride, extent] : axes) {
        if (stride < span) return true;
        span += stride * (extent - 1);
    }
    return false;
}

void expect_place(const Offer& offer, const Device& device) {
    if (offer.to.view.device == device) return;
    throw py::value_error("out is on " + offer.to.view.device.to_string() + "; the result is on " + device.to_string());
}

void expect_writable(const Offer& offer) {
    if (offer.read_only) throw py::value_error("out is read-only; pass an array that may be written");
}

}  // namespace

Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                           const Device& device) {
    Offer offer = offer_of(out);
    expect_place(offer, device);
    if (offer.dtype != dtype) {
        const std::string given = offer.dtype ? std::string(to_string(*offer.dtype)) : offer.dtype_name;
        throw py::type_error("out has dtype " + given + "; the result is " + std::string(to_string(dtype)));
    }
    TensorView& view = offer.to.view;
    view.dtype = dtype;
    if (view.shape != shape) {
        throw py::value_error("out has shape " + shape_text(view.shape) + "; the result has shape " +
                              shape_text(shape));
    }
    expect_writable(offer);
    if (!view.is_contiguous() && may_overlap(view, offer.itemsize)) {
        throw py::value_error("out has elements that share memory (strides " + shape_text(view.strides_bytes) +
                              " bytes); pass an array whose elements are apart");
    }
    return std::move(offer.to);
}

Destination to_byte_destination(const py::object& out, std::int64_t size_bytes) {
    Offer offer = offer_of(out);
    expect_place(offer, {});
    std::int64_t given = offer.itemsize;
    for (const auto extent : offer.to.view.shape) given *= extent;
    if (given != size_bytes) {
        throw py::value_error("out has " + std::to_string(given) + " bytes; the result has " +
                              std::to_string(size_bytes));
    }
    expect_writable(offer);
    TensorView& view = offer.to.view;
    std::int64_t expected = offer.itemsize;
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        if (view.shape[axis] > 1 && view.strides_bytes[axis] != expected) {
            throw py::value_error("out is not one run of bytes (strides " + shape_text(view.strides_bytes) +
                                  "); pass a C-contiguous array");
        }
        expected *= view.shape[axis];
    }
    view = {view.data, DType::uint8, Device{}, {size_bytes}, {1}};
    return std::move(offer.to);
}

}  // namespace tricodec::python
