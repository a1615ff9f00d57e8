// SPDX-License-Identifier: Apache-2.0
/// A base for Python classes that export a buffer by a __buffer__(flags) method that returns a memoryview. Python has
/// this itself since 3.12 (PEP 688); before, only types made in C can export buffers.
#include <pybind11/pybind11.h>

#include "bindings.h"

namespace tricodec::python {
namespace {

int give_buffer(PyObject* self, Py_buffer* buffer, int flags) noexcept {
    buffer->obj = nullptr;
    PyObject* view = PyObject_CallMethod(self, "__buffer__", "i", flags);
    if (view == nullptr) return -1;
    int result = -1;
    if (PyMemoryView_Check(view)) {
        // The consumer's reference is to the memoryview, which keeps what it looks at.
        result = PyObject_GetBuffer(view, buffer, flags);
    } else {
        PyErr_SetString(PyExc_TypeError, "__buffer__() must return a memoryview");
    }
    Py_DECREF(view);
    return result;
}

PyType_Slot g_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(give_buffer)},
    {Py_tp_doc, const_cast<char*>("Base of classes that export the memoryview which their __buffer__(flags) returns.")},
    {0, nullptr},
};

PyType_Spec g_spec = {"tricodec._tricodec.BufferExporter", sizeof(PyObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, g_slots};

}  // namespace

void bind_buffer_exporter(py::module_& module) {
    PyObject* type = PyType_FromSpec(&g_spec);
    if (type == nullptr) throw py::error_already_set();
    module.attr("BufferExporter") = py::reinterpret_steal<py::object>(type);
}

}  // namespace tricodec::python
