// SPDX-License-Identifier: Apache-2.0
#include "tricodec/selection/frame_selection.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <vector>

#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/selection/frame_clock.h"
#include "video/options.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

py::tuple run_select_frames(const std::vector<double>& pts_seconds, double end_seconds, double tick_seconds,
                            const std::vector<std::int64_t>& key_frames, const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    expect_none_left("select_frames", left);
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
        [](const py::kwargs& keywords) {
            py::dict left = keywords;
            static_cast<void>(take_selection(left));
            expect_none_left("select", left);
        },
        "Raises for options of a selection that no video can make right.");
}

}  // namespace tricodec::python
