// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

/// A file-like object of Python. The core calls it with the lock released, from whichever thread needs bytes; each
/// call takes the lock. What Python raises passes through the core unchanged.
class FileLikeReader final : public ByteReader {
public:
    /// The lock must be held.
    explicit FileLikeReader(const py::object& object) : object_(share_object(object)) {
        seekable_ = find_out_if_seekable(object);
        if (seekable_) {
            size_ = seek_to(object, 0, SEEK_END);
            seek_to(object, 0, SEEK_SET);
        }
    }

    std::size_t read(std::span<std::byte> out) override {
        return call([&](const py::object& object) -> std::size_t {
            const py::object result = object.attr("read")(out.size());
            if (result.is_none()) {
                throw py::type_error(
                    "read() of the source returned None; a source in non-blocking mode cannot be read");
            }
            Py_buffer view{};
            if (PyObject_CheckBuffer(result.ptr()) == 0) {
                throw py::type_error("read() of the source must return bytes, not " +
                                     std::string(Py_TYPE(result.ptr())->tp_name) + "; open files in binary mode");
            }
            if (PyObject_GetBuffer(result.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw py::error_already_set();
            const auto length = static_cast<std::size_t>(view.len);
            if (length <= out.size()) std::memcpy(out.data(), view.buf, length);
            PyBuffer_Release(&view);
            if (length > out.size()) {
                throw py::value_error("read(" + std::to_string(out.size()) + ") of the source returned " +
                                      std::to_string(length) + " bytes, more than were asked for");
            }
            return length;
        });
    }

    void seek(std::int64_t position) override {
        call([&](const py::object& object) {
            seek_to(object, position, SEEK_SET);
            return 0;
        });
    }

    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return size_; }
    [[nodiscard]] bool seekable() const override { return seekable_; }

private:
    template <class Function>
    std::invoke_result_t<Function, const py::object&> call(Function&& function) {
        TRICODEC_EXPECT(interpreter_usable(), io, "the source cannot be read: the Python interpreter is shutting down");
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

    static bool find_out_if_seekable(const py::object& object) {
        if (!py::hasattr(object, "seek")) return false;
        return !py::hasattr(object, "seekable") || object.attr("seekable")().cast<bool>();
    }

    /// seek() of the io classes returns the new position; others need tell().
    static std::int64_t seek_to(const py::object& object, std::int64_t offset, int whence) {
        const py::object position = object.attr("seek")(offset, whence);
        if (PyLong_Check(position.ptr())) return position.cast<std::int64_t>();
        return whence == SEEK_SET ? offset : object.attr("tell")().cast<std::int64_t>();
    }

    std::shared_ptr<PyObject> object_;
    std::optional<std::int64_t> size_;
    bool seekable_ = false;
};

MediaSource from_path(const py::object& path) {
    PyObject* converted = nullptr;  // bytes in the file system's encoding, surrogate escapes undone, no NUL inside
    if (PyUnicode_FSConverter(path.ptr(), &converted) == 0) throw py::error_already_set();
    const auto encoded = py::reinterpret_steal<py::bytes>(converted);
    return MediaSource::from_path(std::filesystem::path(static_cast<std::string>(encoded)));
}

std::string name_of(const py::object& object) {
    if (py::hasattr(object, "name")) {
        const py::object name = object.attr("name");
        if (py::isinstance<py::str>(name)) return name.cast<std::string>();
    }
    return "<" + std::string(Py_TYPE(object.ptr())->tp_name) + ">";
}

}  // namespace

BorrowedBytes borrow_bytes(const py::object& object) {
    // A memoryview holds the export and, being an object, can be dropped on any thread.
    PyObject* view = PyMemoryView_FromObject(object.ptr());
    if (view == nullptr) throw py::error_already_set();
    auto owner = share_object(py::reinterpret_steal<py::object>(view));
    const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(view);
    if (PyBuffer_IsContiguous(&buffer, 'C') == 0) {
        throw py::buffer_error("the bytes are not contiguous; pass bytes(x) or np.ascontiguousarray(x)");
    }
    return {{static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len)}, std::move(owner)};
}

MediaSource to_media_source(const py::object& source) {
    if (py::isinstance<py::str>(source) || py::hasattr(source, "__fspath__")) return from_path(source);
    if (PyObject_CheckBuffer(source.ptr()) != 0) {
        BorrowedBytes borrowed = borrow_bytes(source);
        return MediaSource::from_bytes(borrowed.bytes, std::move(borrowed.owner));
    }
    if (py::hasattr(source, "read")) {
        return MediaSource::from_reader(std::make_shared<FileLikeReader>(source), name_of(source));
    }
    throw py::type_error(
        "source must be a path (str or os.PathLike), bytes-like, or an object with read(n) and "
        "seek(offset, whence), not " +
        shown(source));
}

}  // namespace tricodec::python
