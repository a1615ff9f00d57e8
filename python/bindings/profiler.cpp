// SPDX-License-Identifier: Apache-2.0
/// Times of stages; the class that users see is tricodec._profiler.Profiler.
#include "tricodec/profiler.h"

#include <pybind11/pybind11.h>

#include <string>

#include "bindings.h"

namespace tricodec::python {

void bind_profiler(py::module_& module) {
    py::class_<Profiler>(module, "Profiler")
        .def(py::init<>())
        .def("stop", &Profiler::stop, py::call_guard<py::gil_scoped_release>())
        .def("elapsed_ns", &Profiler::elapsed_ns, py::call_guard<py::gil_scoped_release>())
        .def(
            "stages",
            [](const Profiler& self) {
                const auto stages = [&] {
                    const py::gil_scoped_release released;  // it may wait for a GPU
                    return self.stages();
                }();
                py::list result;
                for (const StageTime& time : stages) {
                    result.append(
                        py::make_tuple(std::string(to_string(time.stage)), time.num_calls, time.host_ns, time.gpu_ns));
                }
                return result;
            },
            "(name, calls, nanoseconds of the host, nanoseconds of GPUs) of each stage that was passed.");
}

}  // namespace tricodec::python
