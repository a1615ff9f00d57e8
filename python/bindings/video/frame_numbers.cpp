// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "convert.h"
#include "errors.h"
#include "tricodec/base/error.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

[[noreturn]] void complain(const py::handle& value) {
    throw py::type_error(
        "frames are selected by an integer, a slice, or integers in a list, tuple, range or array, not " +
        shown(value));
}

bool is_bool(const py::handle& value) {
    // numpy 1 calls its bool "numpy.bool_" and lets it pass for an integer with a warning, numpy 2 "numpy.bool".
    return PyBool_Check(value.ptr()) || std::string_view(Py_TYPE(value.ptr())->tp_name).starts_with("numpy.bool");
}

struct Slice {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;

    /// The frames of a video of `length`.
    [[nodiscard]] std::vector<std::int64_t> of(Py_ssize_t length) const {
        Py_ssize_t first = start;
        Py_ssize_t end = stop;
        const Py_ssize_t count = PySlice_AdjustIndices(length, &first, &end, step);
        std::vector<std::int64_t> result(static_cast<std::size_t>(count));
        for (Py_ssize_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = first + i * step;
        return result;
    }
    /// True if it selects frames of a video that is long enough: not `[3:3]`.
    [[nodiscard]] bool open() const {
        Py_ssize_t first = start;
        Py_ssize_t end = stop;
        return PySlice_AdjustIndices(PY_SSIZE_T_MAX, &first, &end, step) > 0;
    }
};

Slice slice_of(const py::handle& value) {
    Slice slice;
    if (PySlice_Unpack(value.ptr(), &slice.start, &slice.stop, &slice.step) != 0) throw py::error_already_set();
    return slice;
}

/// False if the array's elements must be read one by one.
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

void expect_in_video(std::int64_t index, std::int64_t length) {
    TRICODEC_EXPECT(
        index >= -length && index < length, out_of_range,
        "frame " + std::to_string(index) + " was asked for; the video has " + std::to_string(length) + " frames");
}

/// The numbers are listed after both ends prove to be frames: those of range(10**12) would take all memory.
FrameRequest from_range(const py::object& range) {
    if (PyObject_IsTrue(range.ptr()) != 1) return std::vector<std::int64_t>();
    return FrameRequest::Numbers([first = to_index(range[py::int_(0)]), last = to_index(range[py::int_(-1)]),
                                  step = to_index(range.attr("step"))](FrameReader& reader) {
        for (const auto end : {first, last}) expect_in_video(end, reader.num_frames());
        std::vector<std::int64_t> numbers = {first};
        while (numbers.back() != last) numbers.push_back(numbers.back() + step);
        for (auto& number : numbers) number += number < 0 ? reader.num_frames() : 0;
        return numbers;
    });
}

}  // namespace

bool is_index(const py::handle& value) {
    // Arrays and tensors have __index__ too, for those of one element.
    if (PyIndex_Check(value.ptr()) == 0 || py::isinstance<py::array>(value)) return false;
    return PyLong_Check(value.ptr()) != 0 || py::getattr(value, "ndim", py::int_(0)).equal(py::int_(0));
}

std::int64_t to_index(const py::handle& value) {
    if (is_bool(value) || !is_index(value)) complain(value);
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) throw py::error_already_set();
    if (const auto index = fitting<std::int64_t>(number)) return *index;
    throw py::index_error("frame " + shown(number) +
                          " was asked for, which no video has; len(reader) is the number of frames");
}

std::vector<std::int64_t> to_number_list(const py::object& given) {
    auto value = given;
    if (!py::isinstance<py::sequence>(given) && has_attribute(given, "__array__")) {  // torch's tensors
        value = py::array::ensure(given);
        if (!value) complain(given);
    }
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

FrameRequest to_frame_numbers(const py::object& value) {
    if (PySlice_Check(value.ptr())) {
        return FrameRequest::Numbers([slice = slice_of(value)](FrameReader& reader) {
            auto numbers = slice.of(reader.num_frames());
            if (numbers.empty() && slice.open()) reader.expect_frames();
            return numbers;
        });
    }
    if (PyRange_Check(value.ptr())) return from_range(value);
    return to_number_list(value);
}

}  // namespace tricodec::python
