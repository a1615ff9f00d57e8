// SPDX-License-Identifier: Apache-2.0
/// Arrays of other libraries by DLPack and the CUDA array interface.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "convert.h"
#include "gil.h"
#include "offer.h"
#include "streams.h"
#include "tricodec/dlpack.h"
#include "tricodec/error.h"
#include "tricodec/gpu.h"

namespace tricodec::python {
namespace {

template <class Managed>
std::shared_ptr<void> hold(Managed* managed) {
    return {managed, [](void* held) {
                auto* tensor = static_cast<Managed*>(held);
                if (tensor->deleter != nullptr) tensor->deleter(tensor);
            }};
}

py::object export_of(const py::object& array, const Device& place, StreamView stream) {
    using namespace py::literals;
    const auto dlpack = array.attr("__dlpack__");
    py::dict words;
    if (place.kind == Device::Kind::cuda) {
        words["stream"] = stream.handle == 0 ? kLegacyStream.handle : stream.handle;  // the standard has no 0
    }
    const CurrentGpu current(place);  // torch exports only what is on its current device
    try {
        return dlpack("max_version"_a = py::make_tuple(1, 0), **words);
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
        return dlpack(**words);  // an exporter from before version 1 does not know the word
    }
}

/// The element type of "<f4"; none if the core has no such type.
std::optional<DType> from_typestr(const std::string& typestr) {
    if (typestr.size() < 3 || (typestr[0] != '|' && typestr[0] != '<' && typestr[0] != '=')) return std::nullopt;
    const std::string name = typestr.substr(1);
    if (name == "u1" || name == "b1") return DType::uint8;
    if (name == "u2") return DType::uint16;
    if (name == "i2") return DType::int16;
    if (name == "i4") return DType::int32;
    if (name == "i8") return DType::int64;
    if (name == "f2") return DType::float16;
    if (name == "f4") return DType::float32;
    return name == "f8" ? std::optional(DType::float64) : std::nullopt;
}

/// Work on `stream` waits for what the interface says still writes the memory.
void order_after(const py::object& producer, const TensorView& view, StreamView stream) {
    if (producer.is_none()) return;
    const auto handle = to_stream(producer).value_or(kLegacyStream);
    if (handle == stream || view.data == nullptr) return;
    const Released released;
    Buffer::borrow(view.data, 1, nullptr, view.device, handle)->wait_on(stream);
}

}  // namespace

Device dlpack_place(const py::object& array) {
    const auto place = py::tuple(array.attr("__dlpack_device__")());
    const auto type = place[0].cast<int>();
    if (type == dlpack::kCpu || type == dlpack::kCudaHost) return {};
    if (type != dlpack::kCuda) {
        throw py::value_error("out is on a device of DLPack type " + std::to_string(type) +
                              "; the result is written to memory on cpu or cuda");
    }
    return {Device::Kind::cuda, place[1].cast<int>()};
}

Offer from_dlpack(const py::object& array, const Device& place, StreamView stream) {
    const py::object capsule = export_of(array, place, stream);
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
    offer.to.stream = stream;
    return offer;
}

Offer from_cuda_array_interface(const py::object& array, std::optional<StreamView> stream) {
    const auto interface = array.attr("__cuda_array_interface__").cast<py::dict>();
    const auto data = py::tuple(interface["data"]);
    Offer offer;
    offer.to.held = std::make_shared<py::object>(array);
    TensorView& view = offer.to.view;
    view.data = reinterpret_cast<void*>(data[0].cast<std::uintptr_t>());
    view.shape = py::tuple(interface["shape"]).cast<std::vector<std::int64_t>>();
    offer.read_only = data[1].cast<bool>();
    const auto typestr = interface["typestr"].cast<std::string>();
    offer.dtype = from_typestr(typestr);
    if (!offer.dtype) offer.dtype_name = "'" + typestr + "'";
    offer.itemsize = std::strtoll(typestr.c_str() + std::min<std::size_t>(2, typestr.size()), nullptr, 10);
    const auto device = gpu_of(view.data);
    if (!device) {
        throw py::value_error("the address of __cuda_array_interface__ of " + shown(array) +
                              " is not of a GPU of this process");
    }
    view.device = *device;
    view.dtype = offer.dtype.value_or(DType::uint8);
    if (interface.contains("strides") && !interface["strides"].is_none()) {
        view.strides_bytes = py::tuple(interface["strides"]).cast<std::vector<std::int64_t>>();
    } else {
        view.strides_bytes.resize(view.shape.size());
        std::int64_t step = offer.itemsize;
        for (std::size_t axis = view.shape.size(); axis-- > 0; step *= view.shape[axis])
            view.strides_bytes[axis] = step;
    }
    if (view.strides_bytes.size() != view.shape.size()) {
        throw py::value_error("__cuda_array_interface__ of " + shown(array) + " has " +
                              std::to_string(view.strides_bytes.size()) + " strides for " +
                              std::to_string(view.shape.size()) + " axes");
    }
    {
        const Released released;
        offer.to.stream = stream ? *stream : thread_stream(*device);
    }
    if (interface.contains("stream")) order_after(interface["stream"], view, offer.to.stream);
    return offer;
}

}  // namespace tricodec::python
