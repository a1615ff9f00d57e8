// SPDX-License-Identifier: Apache-2.0
/// Times of stages and memory by allocators, as lists of tuples for the package's classes.
#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>

#include "bindings.h"
#include "tricodec/base/memory_tracker.h"
#include "tricodec/base/profiler.h"

namespace tricodec::python {
namespace {

/// Makes a tuple of each element that `ask` returns. `ask` may wait for threads that allocate.
template <class Ask, class Make>
py::list list_of(const Ask& ask, const Make& make) {
    const auto elements = [&] {
        const py::gil_scoped_release released;
        return ask();
    }();
    py::list list;
    for (const auto& element : elements) list.append(make(element));
    return list;
}

}  // namespace

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

void bind_memory_tracker(py::module_& module) {
    using WithoutGil = py::call_guard<py::gil_scoped_release>;
    module.def(
        "memory_use",
        [] {
            return list_of(
                [] { return memory_use(); },
                [](const MemoryUse& use) { return py::make_tuple(use.name(), use.in_use_bytes, use.idle_bytes); });
        },
        "(name, bytes in use, bytes kept) of each allocator.");
    py::class_<MemoryTracker>(module, "MemoryTracker")
        .def(py::init<std::size_t>(), py::arg("max_events"), WithoutGil())
        .def("stop", &MemoryTracker::stop, WithoutGil())
        .def("num_dropped_events", &MemoryTracker::num_dropped_events, WithoutGil())
        .def(
            "allocators",
            [](const MemoryTracker& self) {
                return list_of([&] { return self.allocators(); },
                               [](const TrackedMemory& each) {
                                   return py::make_tuple(each.name(), each.in_use_bytes, each.idle_bytes,
                                                         each.peak_bytes, each.num_allocations, each.num_reuses);
                               });
            },
            "(name, bytes in use, bytes kept, peak, allocations, reuses) of each allocator.")
        .def(
            "events",
            [](const MemoryTracker& self) {
                return list_of([&] { return self.events(); },
                               [](const MemoryEvent& event) {
                                   return py::make_tuple(event.time_ns, event.name(),
                                                         std::string(to_string(event.action)), event.size_bytes,
                                                         event.in_use_bytes);
                               });
            },
            "(nanoseconds, allocator, action, bytes, bytes in use after it) of each event that was kept.");
}

}  // namespace tricodec::python
