// SPDX-License-Identifier: Apache-2.0
#include "video/options.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string_view>
#include <utility>
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

constexpr int kLineLength = 120;
constexpr const char* kTypes[] = {"whole", "number", "flag", "text", "wholes", "numbers"};

double to_number(const py::object& value, const std::string& name) {
    const bool is_number = !PyBool_Check(value.ptr()) && !py::isinstance<py::str>(value) &&
                           !py::isinstance<py::bytes>(value) && has_attribute(value, "__float__");
    if (!is_number) throw py::type_error(name + " must be a number, not " + shown(value));
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Float(value.ptr()));
    if (!number) throw py::error_already_set();
    return number.cast<double>();
}

bool to_flag(const py::object& value, const std::string& name) {
    if (!py::isinstance<py::bool_>(value)) throw py::type_error(name + " must be a bool, not " + shown(value));
    return value.cast<bool>();
}

/// A str, or the name of a value of an enumeration: torchvision's, Pillow's.
std::string to_name(const py::object& value, const std::string& what) {
    if (!py::isinstance<py::str>(value) && has_attribute(py::type::of(value), "__members__"))
        return value.attr("name").cast<std::string>();
    if (!py::isinstance<py::str>(value)) throw py::type_error(what + " must be a str, not " + shown(value));
    return value.cast<std::string>();
}

/// Numbers in a list, or one.
std::vector<double> to_numbers(const py::object& value, const std::string& name) {
    const auto complain = [&] {
        throw py::type_error(name + " must be a number, or numbers in a list, tuple or array of one axis, not " +
                             shown(value));
    };
    if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value) || py::isinstance<py::dict>(value))
        complain();
    const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
    if (!array || array.ndim() > 1) complain();
    return {array.data(), array.data() + array.size()};
}

std::vector<std::int64_t> to_wholes(const py::object& value, const std::string& name) {
    if (PyRange_Check(value.ptr()) && py::len(value) > static_cast<std::size_t>(limits().max_packets)) {
        throw py::index_error(name + " are " + shown(value) + ", more frames than a video may have (" +
                              std::to_string(limits().max_packets) + ")");
    }
    if (PySlice_Check(value.ptr()) || is_index(value)) {
        throw py::type_error(name + " must be integers in a list, tuple, range or array, not " + shown(value) +
                             "; for a slice pass start, stride and count");
    }
    return to_number_list(value);
}

std::vector<std::int64_t> to_fixed(const py::object& value, const OptionInfo& option) {
    const auto length = static_cast<std::size_t>(std::ranges::count(option.accepted, ',')) + 1;
    const auto numbers =
        to_ints(value, length, std::string(option.name).c_str(), ("(" + option.accepted + ")").c_str());
    return {numbers.begin(), numbers.end()};
}

template <class Request>
py::list names_of(Options<Request> table) {
    py::list names;
    for (const auto& option : table) names.append(py::str(option.name));
    return names;
}

/// Raises the TypeError for the first keyword, which names the nearest of what is accepted.
[[noreturn]] void raise_unexpected(const char* call, const py::dict& keywords, const py::object& accepted) {
    const py::object options = py::module_::import("tricodec.options");
    PyErr_SetObject(PyExc_TypeError, options.attr("unexpected_keyword")(call, keywords.begin()->first, accepted).ptr());
    throw py::error_already_set();
}

/// Of each option: the name of its type, its default, the accepted values, and what it means.
template <class Request>
py::dict table_of(Options<Request> table) {
    py::dict result;
    for (const auto& option : table) {
        const auto accepted =
            option.accepted.empty() ? py::list() : py::list(py::str(option.accepted).attr("split")(", "));
        result[py::str(option.name)] =
            py::make_tuple(kTypes[static_cast<std::size_t>(option.type)], from_option_value(option.get(Request{})),
                           py::tuple(accepted), option.meaning);
    }
    return result;
}

}  // namespace

OptionValue to_option_value(const OptionInfo& option, const py::object& value) {
    const std::string name(option.name);
    switch (option.type) {
        case OptionType::whole:
            return to_whole(value, name);
        case OptionType::number:
            return to_number(value, name);
        case OptionType::flag:
            return to_flag(value, name);
        case OptionType::text:
            return name == "dtype" ? to_dtype_name(value) : to_name(value, name);
        case OptionType::wholes:
            return option.accepted.empty() ? to_wholes(value, name) : to_fixed(value, option);
        case OptionType::numbers:
            return to_numbers(value, name);
    }
    return {};
}

py::object from_option_value(const std::optional<OptionValue>& value) {
    if (!value) return py::none();
    const py::object result = py::cast(*value);
    return py::isinstance<py::list>(result) ? py::object(py::tuple(result)) : result;
}

FrameSelection take_selection(py::dict& keywords) {
    FrameSelection selection;
    take_options(selection_options(), keywords, selection);
    expect_valid(selection);
    return selection;
}

std::shared_ptr<Transform> make_transform(const py::kwargs& keywords) {
    py::dict left = keywords;
    TransformOptions options;
    take_options(transform_options(), left, options);
    if (!left.empty()) raise_unexpected("Transform", left, names_of(transform_options()));
    return std::make_shared<Transform>(std::move(options));
}

std::shared_ptr<Transform> to_transform(const char* call, const py::object& transform, py::dict keywords) {
    const auto given = py::list(keywords.attr("keys")());
    TransformOptions options;
    take_options(transform_options(), keywords, options);
    if (!keywords.empty()) {
        raise_unexpected(call, keywords, names_of(selection_options()) + names_of(transform_options()));
    }
    if (transform.is_none()) return std::make_shared<Transform>(std::move(options));
    if (!py::isinstance<Transform>(transform)) {
        throw py::type_error("transform must be a tricodec.Transform, not " +
                             std::string(Py_TYPE(transform.ptr())->tp_name));
    }
    if (!given.empty()) {
        throw py::type_error("pass either a transform or its options, not both; the options were " +
                             py::str(given).cast<std::string>());
    }
    return transform.cast<std::shared_ptr<Transform>>();
}

void expect_none_left(const char* call, const py::dict& keywords) {
    if (!keywords.empty()) raise_unexpected(call, keywords, names_of(selection_options()));
}

template <class Request>
std::string init_signature(Options<Request> table) {
    std::string text = "__init__(self, *";
    for (const auto& option : table) {
        text += ", " + std::string(option.name) + "=" +
                py::repr(from_option_value(option.get(Request{}))).template cast<std::string>();
    }
    return text + ")\n--\n\n";
}
template std::string init_signature(Options<TransformOptions> table);

template <class Request>
std::string arguments_text(Options<Request> table) {
    using namespace py::literals;
    const py::object fill = py::module_::import("textwrap").attr("fill");
    std::string text = "Args:";
    for (const auto& option : table) {
        std::string line = std::string(option.name) + ": ";
        if (option.type == OptionType::wholes && !option.accepted.empty()) line += "(" + option.accepted + "); ";
        line += option.meaning;
        if (option.type == OptionType::text && !option.accepted.empty()) line += " One of " + option.accepted + ".";
        text +=
            "\n" + fill(line, "width"_a = kLineLength, "initial_indent"_a = "    ", "subsequent_indent"_a = "        ")
                       .template cast<std::string>();
    }
    return text;
}
template std::string arguments_text(Options<FrameSelection> table);
template std::string arguments_text(Options<TransformOptions> table);

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

void bind_options(py::module_& module) {
    module.attr("SELECTION_OPTIONS") = table_of(selection_options());
    module.attr("TRANSFORM_OPTIONS") = table_of(transform_options());
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
