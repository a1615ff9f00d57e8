// SPDX-License-Identifier: Apache-2.0
#include "stream_types.h"

#include <pybind11/stl.h>

#include "convert.h"

namespace tricodec::python {

std::map<std::string, std::string> to_strings(const py::object& options, const char* what) {
    std::map<std::string, std::string> result;
    if (options.is_none()) return result;
    if (!py::isinstance<py::dict>(options)) {
        throw py::type_error(std::string(what) + " must be a dict of str to str, not " + shown(options));
    }
    for (const auto& [key, value] : options.cast<py::dict>()) {
        if (!py::isinstance<py::str>(key) || !py::isinstance<py::str>(value)) {
            throw py::type_error(std::string(what) + " must be a dict of str to str; found " + shown(key) + ": " +
                                 shown(value));
        }
        result[key.cast<std::string>()] = value.cast<std::string>();
    }
    return result;
}

py::str to_text(const std::string& text) {
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (decoded == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(decoded);
}

py::dict to_dict(const std::map<std::string, std::string>& entries) {
    py::dict result;
    for (const auto& [key, value] : entries) result[to_text(key)] = to_text(value);
    return result;
}

}  // namespace tricodec::python
