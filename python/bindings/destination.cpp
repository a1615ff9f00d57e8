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
#include "gil.h"
#include "offer.h"
#include "tricodec/gpu.h"

namespace tricodec::python {
namespace {

/// Whether a result that is made on `made_on` can go to memory of the GPU `place`.
bool may_be_written(const Device& place, const Device* made_on) {
    if (made_on == nullptr) return false;
    return place == *made_on || (made_on->kind == Device::Kind::cpu && gpu_unusable_reason(place.index).empty());
}

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

bool has_dlpack(const py::object& array) {
    return py::hasattr(array, "__dlpack__") && py::hasattr(array, "__dlpack_device__");
}

/// Memory on a GPU where `made_on` is set: then a result may be written there.
Offer offer_of(const py::object& out, const Device* made_on, std::optional<StreamView> stream) {
    if (py::isinstance<py::array>(out)) return from_numpy(py::reinterpret_borrow<py::array>(out));
    if (has_dlpack(out)) {
        const Device place = dlpack_place(out);
        if (place.kind == Device::Kind::cpu) return from_dlpack(out, place, {});
        Offer elsewhere;  // where it is says all: an export would have to wait for the device's work
        elsewhere.to.view.device = place;
        if (!may_be_written(place, made_on)) return elsewhere;
        const auto own = [&] {
            const Released released;
            return stream ? *stream : thread_stream(place);
        };
        return from_dlpack(out, place, own());
    }
    if (py::hasattr(out, "__cuda_array_interface__") && made_on != nullptr)
        return from_cuda_array_interface(out, stream);
    if (PyObject_CheckBuffer(out.ptr()) != 0) return from_buffer(out);
    if (py::hasattr(out, "__array_interface__")) {
        const auto array = py::module_::import("numpy").attr("asarray")(out).cast<py::array>();
        Offer offer = from_numpy(array);
        offer.to.held = std::make_shared<py::array>(array);
        return offer;
    }
    throw py::type_error(
        "out must be a numpy array, a torch tensor or another writable array (__dlpack__, the buffer protocol, "
        "__array_interface__ or __cuda_array_interface__), not " +
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

void expect_place(const Offer& offer, const Device* made_on) {
    const Device& place = offer.to.view.device;
    if (place.kind == Device::Kind::cpu || may_be_written(place, made_on)) return;
    const std::string reason = made_on == nullptr ? "" : gpu_unusable_reason(place.index);
    throw py::value_error("out is on " + place.to_string() +
                          (reason.empty() ? "" : ", which cannot be used: " + reason) + "; the result is made on " +
                          (made_on == nullptr ? Device{} : *made_on).to_string());
}

void expect_writable(const Offer& offer) {
    if (offer.read_only) throw py::value_error("out is read-only; pass an array that may be written");
}

}  // namespace

namespace {

Destination checked_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                                const Device* made_on, std::optional<StreamView> stream) {
    Offer offer = offer_of(out, made_on, stream);
    expect_place(offer, made_on);
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

}  // namespace

Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape) {
    return checked_destination(out, dtype, shape, nullptr, std::nullopt);
}

Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                           const Device& device, std::optional<StreamView> stream) {
    return checked_destination(out, dtype, shape, &device, stream);
}

std::optional<Destination> find_on_gpu(const py::object& array) {
    if (py::isinstance<py::array>(array)) return std::nullopt;
    const bool by_dlpack = has_dlpack(array);
    if (!by_dlpack && !py::hasattr(array, "__cuda_array_interface__")) return std::nullopt;
    Offer offer;
    if (by_dlpack) {
        const Device place = dlpack_place(array);
        if (place.kind == Device::Kind::cpu) return std::nullopt;
        const auto own = [&] {
            const Released released;
            return thread_stream(place);
        };
        offer = from_dlpack(array, place, own());
    } else {
        offer = from_cuda_array_interface(array, std::nullopt);
    }
    if (!offer.dtype) throw py::type_error("an array of dtype " + offer.dtype_name + " is not accepted");
    return std::move(offer.to);
}

Destination to_byte_destination(const py::object& out, std::int64_t size_bytes) {
    Offer offer = offer_of(out, nullptr, std::nullopt);
    expect_place(offer, nullptr);
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
