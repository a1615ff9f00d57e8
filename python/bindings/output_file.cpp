// SPDX-License-Identifier: Apache-2.0
#include "tricodec/output_file.h"

#include <filesystem>
#include <memory>

#include "bindings.h"
#include "errors.h"
#include "file_like.h"
#include "gil.h"
#include "guarded.h"
#include "source.h"
#include "tricodec/interrupt.h"

namespace tricodec::python {
namespace {

/// For set_interrupt_check(): ends a call of Python's main thread when a signal's handler raises, as Ctrl-C's does.
void check_signals() {
    if (!Unlocked::active() || !interpreter_usable()) return;  // a thread of the core's
    with_lock([] {
        if (PyErr_CheckSignals() == 0) return 0;
        py::error_already_set raised;
        throw PythonError(raised);
    });
}

class PyOutputFile {
public:
    explicit PyOutputFile(std::unique_ptr<OutputFile> file) : file_(std::move(file), "OutputFile") {}

    static std::unique_ptr<PyOutputFile> open(const py::object& path) {
        const std::filesystem::path target(to_path(path));
        Unlocked unlocked;
        return std::make_unique<PyOutputFile>(std::make_unique<OutputFile>(target));
    }
    std::size_t write(const py::object& data) {
        const auto borrowed = borrow_bytes(data);
        file_.call([&](OutputFile& file) { file.write(borrowed.bytes); });
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

void bind_output_file(py::module_& module) {
    set_interrupt_check(check_signals);
    // Objects that live until the interpreter ends are not destroyed (Guarded); their temporary files go all the same.
    if (Py_AtExit(discard_open_outputs) != 0) throw py::import_error("Py_AtExit() has no room left");
    py::class_<PyOutputFile>(module, "OutputFile",
                             "A file for a ``with`` block; it has its name when the block ends well.")
        .def(py::init(&PyOutputFile::open), py::arg("path"), "Open a path (str or os.PathLike).")
        .def("write", &PyOutputFile::write, py::arg("data"),
             "Write all bytes of a bytes-like object; returns their number.")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyOutputFile& self, const py::args& error) { self.leave(error[0]); });
}

}  // namespace tricodec::python
