// SPDX-License-Identifier: Apache-2.0
#include "tricodec/selection/frame_selection.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/base/limits.h"
#include "tricodec/selection/frame_clock.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

double to_seconds(const py::object& value, const char* name) {
    const bool is_number = !PyBool_Check(value.ptr()) && !py::isinstance<py::str>(value) &&
                           !py::isinstance<py::bytes>(value) && has_attribute(value, "__float__");
    if (!is_number) throw py::type_error(std::string(name) + " must be a number, not " + shown(value));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Float(value.ptr()));
    if (!number) throw py::error_already_set();
    return number.cast<double>();
}

std::vector<double> to_times(const py::object& value, const char*) {
    const auto complain = [&] {
        throw py::type_error("times must be seconds in a list, tuple or array of one axis, not " + shown(value));
    };
    if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value) || py::isinstance<py::dict>(value))
        complain();
    const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
    if (!array) complain();
    if (array.ndim() != 1) complain();
    return {array.data(), array.data() + array.size()};
}

std::vector<std::int64_t> to_indices(const py::object& value, const char*) {
    if (PyRange_Check(value.ptr()) && py::len(value) > static_cast<std::size_t>(limits().max_packets)) {
        throw py::index_error("indices are " + shown(value) + ", more frames than a video may have (" +
                              std::to_string(limits().max_packets) + ")");
    }
    if (PySlice_Check(value.ptr()) || is_index(value)) {
        throw py::type_error("indices must be integers in a list, tuple, range or array, not " + shown(value) +
                             "; for a slice pass start, stride and count");
    }
    return to_number_list(value);
}

py::tuple run_select_frames(const std::vector<double>& pts_seconds, double end_seconds, double tick_seconds,
                            const std::vector<std::int64_t>& key_frames, const py::kwargs& words) {
    py::dict left = words;
    const auto selection = take_selection(left);
    expect_no_words(left, "select_frames");
    const FrameClock clock(pts_seconds, {}, end_seconds);
    auto video = clock.video_times();
    video.tick_seconds = tick_seconds;
    video.key_frames = key_frames;
    SelectedFrames selected;
    {
        Unlocked unlocked;
        selected = select_frames(selection, video);
    }
    return to_selected_arrays(selected);
}

}  // namespace

std::int64_t to_whole(const py::object& value, const std::string& name) {
    if (PyBool_Check(value.ptr()) || !is_index(value))
        throw py::type_error(name + " must be an int, not " + shown(value));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) throw py::error_already_set();
    return fit<std::int64_t>(number, name + " is");
}

FrameSelection take_selection(py::dict& options) {
    FrameSelection selection;
    const auto take = [&](const char* name, auto& target, const auto& convert) {
        if (!options.contains(name)) return;
        const py::object value = options.attr("pop")(name);
        if (!value.is_none()) target = convert(value, name);
    };
    const auto index = [](const py::object& value, const char*) { return to_index(value); };
    take("start", selection.start, index);
    take("stride", selection.stride, to_whole);
    take("count", selection.count, to_whole);
    take("indices", selection.indices, to_indices);
    take("times", selection.times, to_times);
    take("tolerance_s", selection.tolerance_s, to_seconds);
    take("policy", selection.policy, [](auto& value, auto* name) { return parse_time_policy(to_word(value, name)); });
    take("fps", selection.fps, to_seconds);
    take("num_frames", selection.num_frames, to_whole);
    take("start_s", selection.start_s, to_seconds);
    take("end_s", selection.end_s, to_seconds);
    take("sampling", selection.sampling, [](auto& value, auto* name) { return parse_sampling(to_word(value, name)); });
    take("min_frames", selection.min_frames, to_whole);
    take("max_frames", selection.max_frames, to_whole);
    expect_valid(selection);
    return selection;
}

FrameSelection take_selection(py::dict& options, const py::object& start, const py::object& stride,
                              const py::object& count) {
    options["start"] = start;
    options["stride"] = stride;
    options["count"] = count;
    return take_selection(options);
}

void expect_no_words(const py::dict& left, const char* call) {
    if (!left.empty()) py::module_::import("tricodec._keywords").attr("expect_options")(call, left, py::tuple());
}

py::tuple to_selected_arrays(const SelectedFrames& selected) {
    const auto size = static_cast<py::ssize_t>(selected.numbers.size());
    return py::make_tuple(py::array_t<std::int64_t>(size, selected.numbers.data()),
                          py::array_t<double>(size, selected.times.data()));
}

void bind_frame_selection(py::module_& module) {
    module.def("select_frames", run_select_frames, py::arg("pts_seconds"), py::arg("end_seconds"), py::kw_only(),
               py::arg("tick_seconds") = 0.0, py::arg("key_frames") = std::vector<std::int64_t>{},
               "The frames that a selection means of a video with these times, and the times that it asked for.");
    module.def(
        "check_selection",
        [](const py::kwargs& words) {
            py::dict left = words;
            static_cast<void>(take_selection(left));
            expect_no_words(left, "select");
        },
        "Raises for words of a selection that no video can make right.");
}

}  // namespace tricodec::python
