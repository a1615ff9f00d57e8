// SPDX-License-Identifier: Apache-2.0
/// Sources and targets of the core: paths, bytes and file objects of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/fork.h"
#include "tricodec/io/media_source.h"
#include "tricodec/io/media_target.h"

namespace tricodec::python {

namespace py = pybind11;

/// An object of the caller. The core calls it from any thread with the lock released; each call takes the lock. An
/// exception of Python passes through the core unchanged.
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
        seekable_ = has_attribute(object, "seek") &&
                    (!has_attribute(object, "seekable") || object.attr("seekable")().cast<bool>());
        has_descriptor_ = descriptor_of(object).has_value();
    }

    /// As Callback::call(). Throws Error(unsupported) in a forked child for a file of the system: parent and child
    /// share its position.
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

    /// Objects in memory have no fileno(), or one that raises; others may return anything. The lock must be held.
    static std::optional<int> descriptor_of(const py::object& object) {
        if (!has_attribute(object, "fileno")) return std::nullopt;
        try {
            const py::object descriptor = object.attr("fileno")();
            return PyLong_Check(descriptor.ptr()) != 0 ? descriptor.cast<int>() : -1;
        } catch (const py::error_already_set& error) {
            if (!error.matches(PyExc_Exception)) throw;
            return std::nullopt;
        } catch (const py::cast_error&) {
            return -1;
        }
    }

private:
    bool seekable_ = false;
    bool has_descriptor_ = false;
    ForkMark mark_;
};

/// A path in the file system's encoding, surrogate escapes undone. Raises TypeError, ValueError for a NUL inside.
[[nodiscard]] std::string to_path(const py::object& path);
/// The name of an object for messages: its attribute `name` if it has one, else its type.
[[nodiscard]] std::string name_of(const py::object& object);
/// str or os.PathLike.
[[nodiscard]] bool is_path(const py::object& object);

/// A source from a str or os.PathLike (a file), a bytes-like object (borrowed, not copied) or an object with read(n)
/// and, if it can, seek(offset, whence). Raises TypeError for anything else.
[[nodiscard]] MediaSource to_media_source(const py::object& source);

/// The bytes of a C-contiguous buffer, which stays exported until the last copy of `owner` goes.
struct BorrowedBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};
[[nodiscard]] BorrowedBytes borrow_bytes(const py::object& object);

/// A target from a str or os.PathLike (a file), or an object with write(bytes) and, if it can, seek(offset, whence) and
/// read(n). Raises TypeError for anything else. None is memory: `memory` then holds the bytes.
struct OpenedTarget {
    MediaTarget target;
    std::shared_ptr<std::vector<std::byte>> memory;  ///< null unless the target is memory
};
[[nodiscard]] OpenedTarget to_media_target(const py::object& target);

}  // namespace tricodec::python
