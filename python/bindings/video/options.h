// SPDX-License-Identifier: Apache-2.0
/// The tables of options in Python: Note [Options].
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "tricodec/base/option.h"
#include "tricodec/image/transform.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::python {

namespace py = pybind11;

/// Raises TypeError and ValueError, which name the option.
[[nodiscard]] OptionValue to_option_value(const OptionInfo& option, const py::object& value);
/// Lists are tuples, and an option left out is None.
[[nodiscard]] py::object from_option_value(const std::optional<OptionValue>& value);

/// Sets the options of a table that are among the keywords, and removes these. None is an option left out.
template <class Request>
void take_options(Options<Request> table, py::dict& keywords, Request& request) {
    const auto items = py::reinterpret_steal<py::list>(PyDict_Items(keywords.ptr()));
    for (const auto& item : items) {
        const auto entry = py::reinterpret_borrow<py::tuple>(item);
        const py::object key = entry[0];
        const py::object value = entry[1];
        const auto* option = find_option(table, key.cast<std::string_view>());
        if (option == nullptr) continue;
        if (!value.is_none()) option->set(request, to_option_value(*option, value));
        if (PyDict_DelItem(keywords.ptr(), key.ptr()) != 0) throw py::error_already_set();
    }
}

/// The values that a request has for the options of its table.
template <class Request>
[[nodiscard]] py::dict option_values(Options<Request> table, const Request& request) {
    py::dict values;
    for (const auto& option : table) values[py::str(option.name)] = from_option_value(option.get(request));
    return values;
}

/// The selection that keywords ask for, which are removed from these. Raises TypeError and ValueError.
[[nodiscard]] FrameSelection take_selection(py::dict& keywords);
/// `transform`, or if that is None the Transform of the keywords. `call` is the function that got them. Raises
/// TypeError for keywords that are no options of a Transform, or are given beside one.
[[nodiscard]] std::shared_ptr<Transform> to_transform(const char* call, const py::object& transform, py::dict keywords);
/// Raises TypeError for keywords that are left, none of which selects frames.
void expect_none_left(const char* call, const py::dict& keywords);

/// Transform(**keywords). Raises TypeError for unknown keywords.
[[nodiscard]] std::shared_ptr<Transform> make_transform(const py::kwargs& keywords);
/// The docstring of a constructor with these options, from which Python takes its signature.
template <class Request>
[[nodiscard]] std::string init_signature(Options<Request> table);
/// "Args:" of a docstring, with a paragraph for each option.
template <class Request>
[[nodiscard]] std::string arguments_text(Options<Request> table);

}  // namespace tricodec::python
