// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings.h"
#include "convert.h"
#include "file_like.h"
#include "gil.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

class FileLikeReader final : public ByteReader {
public:
    /// The lock must be held.
    explicit FileLikeReader(const py::object& object)
        : object_(object), seekable_(object_.seekable() && goes_to_end(object)) {
        if (!seekable_) {
            // read() of a buffered pipe waits until it has all bytes; what is there must not wait for what is not.
            if (py::hasattr(object, "read1")) read_ = "read1";
            return;
        }
        size_ = FileLike::seek_to(object, 0, SEEK_END);
        FileLike::seek_to(object, 0, SEEK_SET);
    }

    std::size_t read(std::span<std::byte> out) override {
        return object_.call([&](const py::object& object) -> std::size_t {
            const py::object result = object.attr(read_)(out.size());
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
        object_.call([&](const py::object& object) {
            FileLike::seek_to(object, position, SEEK_SET);
            return 0;
        });
    }

    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return size_; }
    [[nodiscard]] bool seekable() const override { return seekable_; }

private:
    /// False where there is a seek() that raises: a wrapper around a pipe has the method, too.
    static bool goes_to_end(const py::object& object) {
        try {
            object.attr("seek")(0, SEEK_END);
            return true;
        } catch (const py::error_already_set& error) {
            if (!error.matches(PyExc_Exception)) throw;
            return false;
        }
    }

    FileLike object_;
    bool seekable_;
    const char* read_ = "read";
    std::optional<std::int64_t> size_;
};

}  // namespace

std::string to_path(const py::object& path) {
    PyObject* converted = nullptr;  // bytes in the file system's encoding, surrogate escapes undone, no NUL inside
    if (PyUnicode_FSConverter(path.ptr(), &converted) == 0) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(converted);
}

std::string name_of(const py::object& object) {
    if (py::hasattr(object, "name")) {
        const py::object name = object.attr("name");
        if (py::isinstance<py::str>(name)) return name.cast<std::string>();
    }
    return "<" + std::string(Py_TYPE(object.ptr())->tp_name) + ">";
}

bool is_path(const py::object& object) {
    return py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__");
}

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
    if (py::isinstance<MediaSource>(source)) return source.cast<MediaSource>();
    if (is_path(source)) return MediaSource::from_path(std::filesystem::path(to_path(source)));
    if (PyObject_CheckBuffer(source.ptr()) != 0) {
        BorrowedBytes borrowed = borrow_bytes(source);
        return MediaSource::from_bytes(borrowed.bytes, std::move(borrowed.owner));
    }
    if (py::hasattr(source, "read")) {
        return MediaSource::from_reader(std::make_shared<FileLikeReader>(source), name_of(source));
    }
    throw py::type_error(
        "source must be a path (str or os.PathLike), bytes-like, or an object with read(n) and, if it can, "
        "seek(offset, whence), not " +
        shown(source));
}

void bind_source(py::module_& module) {
    py::class_<MediaSource>(module, "SpooledSource",
                            "A source that can be opened several times, even if it is an object that cannot seek.")
        .def(py::init([](const py::object& source) { return to_media_source(source).spooled(); }), py::arg("source"));
}

}  // namespace tricodec::python
