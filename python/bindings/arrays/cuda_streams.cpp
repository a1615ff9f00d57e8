// SPDX-License-Identifier: Apache-2.0
#include "arrays/cuda_streams.h"

#include <string>

#include "convert.h"
#include "errors.h"

namespace tricodec::python {
namespace {

/// A handle: an int, or ctypes' c_void_p around one, with None for null.
std::optional<std::uintptr_t> handle_in(const py::object& value) {
    if (PyBool_Check(value.ptr()) != 0) return std::nullopt;
    if (PyIndex_Check(value.ptr()) != 0) {
        const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
        if (!number) throw py::error_already_set();
        return fit<std::uintptr_t>(number, "a handle is");
    }
    if (!has_attribute(value, "value")) return std::nullopt;
    const py::object inner = value.attr("value");
    if (inner.is_none()) return 0;
    return py::isinstance<py::int_>(inner) ? handle_in(inner) : std::nullopt;
}

std::optional<std::uintptr_t> handle_of(const py::object& value, std::initializer_list<const char*> attributes) {
    if (const auto handle = handle_in(value)) return handle;
    for (const char* name : attributes) {
        if (has_attribute(value, name)) return handle_in(value.attr(name));
    }
    return std::nullopt;
}

}  // namespace

std::optional<StreamView> to_stream(const py::object& value) {
    if (value.is_none()) return std::nullopt;
    std::optional<std::uintptr_t> handle;
    if (has_attribute(value, "__cuda_stream__")) {  // NVIDIA's protocol: (version, handle), a method or an attribute
        py::object pair = value.attr("__cuda_stream__");
        if (PyCallable_Check(pair.ptr()) != 0) pair = pair();
        const auto parts = py::tuple(pair);
        if (parts.size() == 2) handle = handle_in(parts[1]);
    } else {
        handle = handle_of(value, {"cuda_stream", "ptr", "handle"});
    }
    if (!handle) {
        throw py::type_error(
            "stream must be None, a handle (int), or a stream of torch, CuPy, pycuda or Numba (__cuda_stream__, "
            ".cuda_stream, .ptr or .handle), not " +
            shown(value));
    }
    return StreamView{*handle};
}

std::optional<EventView> to_consumed_event(const py::object& value, const Device& input) {
    if (value.is_none()) return std::nullopt;
    const auto find = [&] { return handle_of(value, {"cuda_event", "ptr", "handle"}); };
    auto handle = find();
    if (!handle) {
        throw py::type_error(
            "input_consumed must be None, the handle of a CUDA event (int), or an event of torch, CuPy or Numba "
            "(.cuda_event, .ptr or .handle), not " +
            shown(value));
    }
    if (input.kind == Device::Kind::cpu) {
        throw py::value_error(
            "input_consumed is an event, but the input is on the CPU, where it is read when the call returns; pass "
            "None");
    }
    if (*handle == 0 && has_attribute(value, "record")) {
        value.attr("record")();
        handle = find();
    }
    if (!handle || *handle == 0) {
        throw py::value_error("input_consumed is " + shown(value) +
                              ", which is no event of the driver (its handle is 0); pass an event that was made");
    }
    return EventView{*handle};
}

std::uintptr_t to_context(const py::object& value) {
    if (value.is_none()) return 0;
    const auto handle = handle_of(value, {"handle"});
    if (!handle) {
        throw py::type_error(
            "context must be None, the handle of a CUDA context (int), or an object with .handle (pycuda, Numba), "
            "not " +
            shown(value));
    }
    return *handle;
}

}  // namespace tricodec::python
