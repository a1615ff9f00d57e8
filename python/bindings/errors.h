// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <string>

namespace tricodec::python {

namespace py = pybind11;

/// An exception of Python that passes through the core. Unlike pybind11::error_already_set it can be rethrown more than
/// once (the core keeps it for later calls), and copied and dropped on any thread.
class PythonError : public std::exception {
public:
    /// The lock must be held.
    explicit PythonError(py::error_already_set& error);

    /// Makes it the current exception of Python again. The lock must be held.
    void restore() const;
    [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

private:
    std::shared_ptr<PyObject> value_;
    std::shared_ptr<const std::string> text_;
};

/// Forgets the current exception of Python. Throws it where it ends the program, as Ctrl-C does.
void clear_error();

/// hasattr() of Python: false where reading the attribute raises, unless the exception ends the program.
[[nodiscard]] bool has_attribute(py::handle object, const char* name);

/// Warns of an object that was dropped before its work was done, as Python does of files. For destructors; the lock
/// must be held.
void warn_dropped(const std::string& message) noexcept;

}  // namespace tricodec::python
