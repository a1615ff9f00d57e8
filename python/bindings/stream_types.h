// SPDX-License-Identifier: Apache-2.0
/// What the bindings of StreamReader and StreamWriter share.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <string>

namespace tricodec::python {

namespace py = pybind11;

/// From a dict of str to str, or None. Raises TypeError naming `what` for anything else.
[[nodiscard]] std::map<std::string, std::string> to_strings(const py::object& options, const char* what);
/// Tags of files need not be UTF-8.
[[nodiscard]] py::str to_text(const std::string& text);
[[nodiscard]] py::dict to_dict(const std::map<std::string, std::string>& entries);

}  // namespace tricodec::python
