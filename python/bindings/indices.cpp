// SPDX-License-Identifier: Apache-2.0
#include "indices.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "convert.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

[[noreturn]] void complain(const py::handle& value) {
    throw py::type_error(
        "frames are asked for by an integer, a slice, or integers in a list, tuple, range or array, not " +
        shown(value));
}

bool is_bool(const py::handle& value) {
    // numpy 1 calls its bool "numpy.bool_" and lets it pass for an integer with a warning, numpy 2 "numpy.bool".
    return PyBool_Check(value.ptr()) || std::string_view(Py_TYPE(value.ptr())->tp_name).starts_with("numpy.bool");
}

std::vector<std::int64_t> from_slice(const py::handle& value, std::int64_t length) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(value.ptr(), &start, &stop, &step) != 0) throw py::error_already_set();
    const Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
    std::vector<std::int64_t> result(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = start + i * step;
    return result;
}

/// Null if the array's elements must be looked at one by one.
bool from_array(const py::array& array, std::vector<std::int64_t>& result) {
    if (array.ndim() != 1) {
        throw py::type_error("an array of frame numbers must have one axis, not shape " +
                             py::str(array.attr("shape")).cast<std::string>());
    }
    if (array.size() == 0) return true;  // np.array([]) is of float64
    const char kind = array.dtype().kind();
    if (kind != 'i' && kind != 'u') {
        throw py::type_error("an array of frame numbers must hold integers, not " +
                             py::str(array.dtype()).cast<std::string>());
    }
    if (kind == 'u' && array.itemsize() == 8) return false;  // numbers past 2^63 would come out negative
    const auto numbers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>::ensure(array);
    if (!numbers) throw py::error_already_set();
    result.assign(numbers.data(), numbers.data() + numbers.size());
    return true;
}

std::vector<std::int64_t> from_items(const py::object& value) {
    if (py::isinstance<py::array>(value)) {
        std::vector<std::int64_t> result;
        if (from_array(py::reinterpret_borrow<py::array>(value), result)) return result;
    } else if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value) || py::isinstance<py::dict>(value) ||
               !py::isinstance<py::sequence>(value)) {
        complain(value);
    }
    std::vector<std::int64_t> result;
    for (const py::handle item : value) result.push_back(to_index(item));
    return result;
}

}  // namespace

bool is_index(const py::handle& value) {
    // Arrays of one element have __index__ too, but are arrays.
    return PyIndex_Check(value.ptr()) != 0 && !py::isinstance<py::array>(value);
}

bool is_whole_slice(const py::handle& value) {
    if (!PySlice_Check(value.ptr())) return false;
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(value.ptr(), &start, &stop, &step) != 0) throw py::error_already_set();
    return start == 0 && stop == PY_SSIZE_T_MAX && step == 1;
}

std::int64_t to_index(const py::handle& value) {
    if (is_bool(value) || !is_index(value)) complain(value);
    const Py_ssize_t number = PyNumber_AsSsize_t(value.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return number;
}

std::vector<std::int64_t> resolve_indices(const py::object& value, const std::function<std::int64_t()>& num_frames) {
    if (PySlice_Check(value.ptr())) return from_slice(value, num_frames());
    std::vector<std::int64_t> result = from_items(value);
    if (std::none_of(result.begin(), result.end(), [](std::int64_t i) { return i < 0; })) return result;
    const std::int64_t length = num_frames();
    for (std::int64_t& index : result) {
        TRICODEC_EXPECT(
            index >= -length, out_of_range,
            "frame " + std::to_string(index) + " is out of range: the video has " + std::to_string(length) + " frames");
        if (index < 0) index += length;
    }
    return result;
}

}  // namespace tricodec::python
