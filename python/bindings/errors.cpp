// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <array>
#include <string_view>

#include "bindings.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"

namespace tricodec::python {
namespace {

constexpr std::size_t kNumCodes = static_cast<std::size_t>(ErrorCode::internal) + 1;

// Borrowed for the life of the process; the module tricodec.errors and these references are never dropped.
std::array<PyObject*, kNumCodes> g_classes{};

/// By ErrorCode; null for classes of Python itself.
constexpr std::array<const char*, kNumCodes> kClassNames = {nullptr,
                                                            nullptr,
                                                            "MediaNotFoundError",
                                                            "UnsupportedError",
                                                            "RefusedError",
                                                            "CorruptDataError",
                                                            "MediaIOError",
                                                            "OutOfMemoryError",
                                                            "DeviceError",
                                                            "InternalError"};

/// Names of files and messages of codecs need not be UTF-8. Null if Python raised.
py::object message_of(const std::string& text) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

void raise(PyObject* type, const std::string& text) {
    const auto message = message_of(text);
    if (message) PyErr_SetObject(type, message.ptr());
}

void translate(std::exception_ptr pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (const PythonError& error) {
        error.restore();
    } catch (const py::cast_error& error) {
        // pybind11 makes a RuntimeError of it. Its text ends with advice on compiling the module.
        const std::string_view text = error.what();
        raise(PyExc_TypeError, "an argument, or the result of one of its methods, has a type that is not accepted: " +
                                   std::string(text.substr(0, text.find(" to C++ type"))));
    } catch (const Error& error) {
        raise(g_classes.at(static_cast<std::size_t>(error.code())), error.what());
    }
}

}  // namespace

PythonError::PythonError(py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) set_interrupted();  // Ctrl-C while a callback is at work
    text_ = std::make_shared<const std::string>(error.what());
    value_ = share_object(error.value());
    if (error.trace()) PyException_SetTraceback(value_.get(), error.trace().ptr());
}

void PythonError::restore() const {
    PyObject* value = value_.get();
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
    Py_INCREF(type);
    Py_INCREF(value);
    PyErr_Restore(type, value, PyException_GetTraceback(value));
}

void clear_error() {
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) throw py::error_already_set();
    PyErr_Clear();
}

bool has_attribute(py::handle object, const char* name) {
    if (py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), name))) return true;
    clear_error();
    return false;
}

void warn_dropped(const std::string& message) noexcept {
    if (!interpreter_usable()) return;
    const py::error_scope kept;
    const auto text = message_of(message);
    if (!text || PyErr_WarnFormat(PyExc_ResourceWarning, 1, "%U", text.ptr()) != 0) PyErr_WriteUnraisable(nullptr);
}

void bind_errors(py::module_&) {
    const py::module_ errors = py::module_::import("tricodec.errors");
    for (std::size_t i = 0; i < kNumCodes; ++i) {
        const auto code = static_cast<ErrorCode>(i);
        const char* name = kClassNames.at(i);
        if (name != nullptr) {
            g_classes.at(i) = errors.attr(name).cast<py::object>().release().ptr();
        } else {
            g_classes.at(i) = code == ErrorCode::out_of_range ? PyExc_IndexError : PyExc_ValueError;
        }
    }
    py::register_local_exception_translator(translate);
}

}  // namespace tricodec::python
