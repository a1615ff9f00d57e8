// SPDX-License-Identifier: Apache-2.0
#include "media_io.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "guarded.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/output_file.h"

namespace tricodec::python {
namespace {

class FileLikeReader final : public ByteReader {
public:
    /// The lock must be held.
    explicit FileLikeReader(const py::object& object)
        : object_(object), seekable_(object_.seekable() && goes_to_end(object)) {
        if (!seekable_) {
            // read() of a buffered pipe waits until it has all bytes; read1() returns those that are there.
            if (has_attribute(object, "read1")) read_ = "read1";
            return;
        }
        fetches_ahead_ = has_attribute(object, "will_read") && has_attribute(object, "lend");
        size_ = FileLike::seek_to(object, 0, SEEK_END);
        FileLike::seek_to(object, 0, SEEK_SET);
    }

    std::size_t read(std::span<std::byte> out) override {
        if (fetches_ahead_) return read_lent(out);
        return object_.call([&](const py::object& object) -> std::size_t {
            const py::object result = object.attr(read_)(out.size());
            if (result.is_none()) {
                throw py::type_error(
                    "read() of the source returned None; a source in non-blocking mode cannot be read");
            }
            if (PyObject_CheckBuffer(result.ptr()) == 0) {
                throw py::type_error("read() of the source must return bytes, not " +
                                     std::string(Py_TYPE(result.ptr())->tp_name) + "; open files in binary mode");
            }
            const auto [bytes, owner] = borrow_bytes(result);
            if (bytes.size() > out.size()) {
                throw py::value_error("read(" + std::to_string(out.size()) + ") of the source returned " +
                                      std::to_string(bytes.size()) + " bytes, more than were asked for");
            }
            std::ranges::copy(bytes, out.begin());
            return bytes.size();
        });
    }

    void seek(std::int64_t position) override {
        position_ = position;
        if (fetches_ahead_) return;
        object_.call([&](const py::object& object) { return FileLike::seek_to(object, position, SEEK_SET); });
    }

    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return size_; }
    [[nodiscard]] bool seekable() const override { return seekable_; }
    [[nodiscard]] bool fetches_ahead() const override { return fetches_ahead_; }
    void will_read(std::span<const ByteRange> ranges) override {
        if (!fetches_ahead_) return;
        object_.call([&](const py::object& object) {
            py::list announced;
            for (const auto& [offset, size_bytes] : ranges) announced.append(py::make_tuple(offset, size_bytes));
            object.attr("will_read")(announced);
            return 0;
        });
    }
    void will_read_on() override {
        if (!fetches_ahead_) return;
        object_.call([&](const py::object& object) {
            if (rest_of_lent().empty()) FileLike::seek_to(object, position_, SEEK_SET);
            return object.attr("will_read_on")().is_none();
        });
    }

private:
    /// Of an object that lends the bytes that it has, some MB at a time: most reads then call nothing of Python.
    std::size_t read_lent(std::span<std::byte> out) {
        if (rest_of_lent().empty()) {
            lent_from_ = object_.call([&](const py::object& object) {
                const auto position = FileLike::seek_to(object, position_, SEEK_SET);
                lent_ = borrow_bytes(object.attr("lend")(out.size()));  // and drops the last bytes, with the lock
                return position;
            });
        }
        const auto rest = rest_of_lent().first(std::min(rest_of_lent().size(), out.size()));
        std::ranges::copy(rest, out.begin());
        position_ += std::ssize(rest);
        return rest.size();
    }

    /// From position_ on; empty if position_ is not in it.
    [[nodiscard]] std::span<const std::byte> rest_of_lent() const {
        const auto begin = position_ - lent_from_;
        if (begin < 0 || begin >= std::ssize(lent_.bytes)) return {};
        return lent_.bytes.subspan(static_cast<std::size_t>(begin));
    }

    /// False if seek() raises: a wrapper around a pipe has the method too.
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
    bool fetches_ahead_ = false;
    BorrowedBytes lent_;
    std::int64_t lent_from_ = 0;
    std::int64_t position_ = 0;  // of one that fetches ahead
    const char* read_ = "read";
    std::optional<std::int64_t> size_;
};

class FileLikeWriter final : public ByteWriter {
public:
    /// The lock must be held.
    explicit FileLikeWriter(const py::object& object)
        : object_(object), readable_(object_.seekable() && can_read(object)) {}

    void write(std::span<const std::byte> bytes) override {
        object_.call([&](const py::object& object) {
            while (!bytes.empty()) {
                // A copy: the object may keep the bytes, and the core reuses its buffer.
                const py::object result = object.attr("write")(to_bytes(bytes));
                // Raw files may write less; an object that returns no number wrote all.
                const auto count = PyLong_Check(result.ptr()) ? result.cast<std::size_t>() : bytes.size();
                if (count == 0 || count > bytes.size()) {
                    throw py::value_error("write() of the target returned " + std::to_string(count) + " for " +
                                          std::to_string(bytes.size()) + " bytes");
                }
                bytes = bytes.subspan(count);
            }
            return 0;
        });
    }
    void seek(std::int64_t position) override {
        object_.call([&](const py::object& object) { return FileLike::seek_to(object, position, SEEK_SET); });
    }
    bool seekable() const override { return object_.seekable(); }
    bool readable() const override { return readable_; }

    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        return object_.call([&](const py::object& object) -> std::size_t {
            const auto before = object.attr("tell")().cast<std::int64_t>();
            FileLike::seek_to(object, position, SEEK_SET);
            const auto bytes = object.attr("read")(out.size()).cast<py::bytes>();
            FileLike::seek_to(object, before, SEEK_SET);
            const auto text = static_cast<std::string_view>(bytes);
            const auto count = std::min(text.size(), out.size());
            std::memcpy(out.data(), text.data(), count);
            return count;
        });
    }
    /// The object stays open: it belongs to the caller.
    void finish() override {
        object_.call([&](const py::object& object) {
            if (has_attribute(object, "flush")) object.attr("flush")();
            return 0;
        });
    }

private:
    static bool can_read(const py::object& object) {
        return has_attribute(object, "read") && has_attribute(object, "tell") &&
               (!has_attribute(object, "readable") || object.attr("readable")().cast<bool>());
    }

    FileLike object_;
    bool readable_;
};

/// Calls in several threads, which one of them ends for all: Python's signals reach the main thread alone.
class Interruption {
public:
    /// A `with` block of a thread.
    void enter() { t_block = ended_; }
    void set() { *ended_ = true; }
    static void leave() { t_block.reset(); }
    static bool is_set() { return t_block != nullptr && *t_block; }

private:
    std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
    static inline thread_local std::shared_ptr<std::atomic<bool>> t_block;
};

/// For set_interrupt_check(): ends a call of Python's main thread when a signal handler raises, as Ctrl-C does, and one
/// of another thread in a block of an Interruption.
void check_signals() {
    if (!(Unlocked::active() || Interruption::is_set()) || !interpreter_usable()) return;  // a thread of the core
    with_lock([] {
        if (Interruption::is_set()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        if (PyErr_Occurred() == nullptr && PyErr_CheckSignals() == 0) return 0;
        py::error_already_set raised;
        throw PythonError(raised);
    });
}

class PyOutputFile {
public:
    explicit PyOutputFile(std::unique_ptr<OutputFile> file) : file_(std::move(file), "OutputFile") {}

    static std::unique_ptr<PyOutputFile> open(const py::object& path, unsigned permissions) {
        const std::filesystem::path target(to_path(path));
        Unlocked unlocked;
        return std::make_unique<PyOutputFile>(std::make_unique<OutputFile>(target, permissions & 0666));
    }
    std::size_t write(const py::object& data) {
        const auto borrowed = borrow_bytes(data);
        file_.call(&OutputFile::write, borrowed.bytes);
        return borrowed.bytes.size();
    }
    void leave(const py::object& error_type) {
        if (error_type.is_none()) file_.call([](OutputFile& file) { file.finish(); });
        file_.close();
    }

private:
    Guarded<OutputFile> file_;
};

}  // namespace

std::string to_path(const py::object& path) {
    PyObject* converted = nullptr;  // bytes in the file system's encoding, surrogate escapes undone, no NUL inside
    if (PyUnicode_FSConverter(path.ptr(), &converted) == 0) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(converted);
}

std::string name_of(const py::object& object) {
    if (has_attribute(object, "name")) {
        const py::object name = object.attr("name");
        if (py::isinstance<py::str>(name)) return name.cast<std::string>();
    }
    return "<" + std::string(Py_TYPE(object.ptr())->tp_name) + ">";
}

bool is_path(const py::object& object) {
    return py::isinstance<py::str>(object) || has_attribute(object, "__fspath__");
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
    // A source that several readers may have, each with a place of its own: tricodec.open_remote().
    if (has_attribute(source, "_open_reader")) return to_media_source(source.attr("_open_reader")());
    if (has_attribute(source, "read")) {
        auto reader = MediaSource::from_reader(std::make_shared<FileLikeReader>(source), name_of(source));
        struct stat status{};
        const auto descriptor = FileLike::descriptor_of(source);
        const bool regular = descriptor && ::fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode);
        return regular ? reader.with_permissions(status.st_mode & 0777) : reader;
    }
    throw py::type_error(
        "source must be a path (str or os.PathLike), bytes-like, or an object with read(n) and, if it can, "
        "seek(offset, whence), not " +
        shown(source) + (py::isinstance<py::list>(source) ? "; tricodec.read_many reads several videos" : ""));
}

OpenedTarget to_media_target(const py::object& target) {
    if (target.is_none()) {
        auto memory = std::make_shared<std::vector<std::byte>>();
        return {MediaTarget::from_memory(memory), memory};
    }
    if (is_path(target)) return {MediaTarget::from_path(std::filesystem::path(to_path(target))), nullptr};
    if (has_attribute(target, "write")) {
        return {MediaTarget::from_writer(std::make_shared<FileLikeWriter>(target), name_of(target)), nullptr};
    }
    throw py::type_error(
        "target must be a path (str or os.PathLike), an object with write(bytes), or None for memory, not " +
        shown(target));
}

void bind_media_io(py::module_& module) {
    py::class_<MediaSource>(module, "SpooledSource",
                            "A source that can be opened several times, even if it is an object that cannot seek.")
        .def(py::init([](const py::object& source) { return to_media_source(source).spooled(); }), py::arg("source"));
    set_interrupt_check(check_signals);
    module.def("check_interrupt", [] { check_interrupt(true); });
    // Objects that live until the end are not destroyed (Guarded); their temporary files are removed all the same.
    if (Py_AtExit(discard_open_outputs) != 0) throw py::import_error("Py_AtExit() has no room left");
    py::class_<Interruption>(module, "Interruption", "Ends what threads do in their ``with`` blocks.")
        .def(py::init<>())
        .def("set", &Interruption::set)
        .def("__enter__", &Interruption::enter)
        .def("__exit__", [](const Interruption&, const py::args&) { Interruption::leave(); });
    py::class_<PyOutputFile>(module, "OutputFile",
                             "A file for a ``with`` block; it has its name when the block ends well.")
        .def(py::init(&PyOutputFile::open), py::arg("path"), py::arg("permissions") = 0666,
             "Open a path (str or os.PathLike); a new file has the permissions, less the umask.")
        .def("write", &PyOutputFile::write, py::arg("data"),
             "Write all bytes of a bytes-like object; returns their number.")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyOutputFile& self, const py::args& error) { self.leave(error[0]); });
}

}  // namespace tricodec::python
