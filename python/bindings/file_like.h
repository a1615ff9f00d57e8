// SPDX-License-Identifier: Apache-2.0
/// Objects of Python that the core reads from and writes to.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "tricodec/error.h"
#include "tricodec/fork.h"

namespace tricodec::python {

namespace py = pybind11;

/// An object of the caller's. The core calls it with the lock released, from whichever thread needs it; each call takes
/// the lock. What Python raises passes through the core unchanged.
class Callback {
public:
    /// The lock must be held.
    explicit Callback(const py::object& object) : object_(share_object(object)) {}

    /// function(object) with the lock held.
    template <class Function>
    std::invoke_result_t<Function, const py::object&> call(Function&& function) {
        TRICODEC_EXPECT(interpreter_usable(), io,
                        "an object of Python cannot be called: the Python interpreter is shutting down");
        return with_lock([&]() -> std::invoke_result_t<Function, const py::object&> {
            try {
                return function(py::reinterpret_borrow<py::object>(object_.get()));
            } catch (py::error_already_set& error) {
                throw PythonError(error);
            } catch (const py::builtin_exception& error) {
                error.set_error();
                py::error_already_set raised;
                throw PythonError(raised);
            }
        });
    }

private:
    std::shared_ptr<PyObject> object_;
};

/// A file-like object.
class FileLike : public Callback {
public:
    /// The lock must be held.
    explicit FileLike(const py::object& object) : Callback(object) {
        seekable_ =
            py::hasattr(object, "seek") && (!py::hasattr(object, "seekable") || object.attr("seekable")().cast<bool>());
        has_descriptor_ = has_descriptor(object);
    }

    /// As Callback::call(). Throws Error(unsupported) in a forked child for a file of the system's, which parent and
    /// child have one position in.
    template <class Function>
    auto call(Function&& function) {
        TRICODEC_EXPECT(!has_descriptor_ || !mark_.in_child(), unsupported,
                        "the file object was opened before this process was forked, and shares its position with the "
                        "parent's; pass the file's path, or open the file in this process");
        return Callback::call(std::forward<Function>(function));
    }

    [[nodiscard]] bool seekable() const noexcept { return seekable_; }

    /// seek() of the io classes returns the new position; others need tell(). The lock must be held.
    static std::int64_t seek_to(const py::object& object, std::int64_t offset, int whence) {
        const py::object position = object.attr("seek")(offset, whence);
        if (PyLong_Check(position.ptr())) return position.cast<std::int64_t>();
        return whence == SEEK_SET ? offset : object.attr("tell")().cast<std::int64_t>();
    }

private:
    /// Objects in memory have no fileno(), or one that raises.
    static bool has_descriptor(const py::object& object) {
        if (!py::hasattr(object, "fileno")) return false;
        try {
            static_cast<void>(object.attr("fileno")());
            return true;
        } catch (const py::error_already_set&) {
            return false;
        }
    }

    bool seekable_ = false;
    bool has_descriptor_ = false;
    ForkMark mark_;
};

/// A path in the file system's encoding, surrogate escapes undone. Raises TypeError, ValueError for a NUL inside.
[[nodiscard]] std::string to_path(const py::object& path);
/// What messages call an object: its name if it has one, else its type.
[[nodiscard]] std::string name_of(const py::object& object);
/// str or os.PathLike.
[[nodiscard]] bool is_path(const py::object& object);

}  // namespace tricodec::python
