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

void bind_measurement(py::module_& module) {
    using WithoutGil = py::call_guard<py::gil_scoped_release>;
    const auto event_tuple = [](const StageEvent& event) {
        return py::make_tuple(event.begin_ns, event.duration_ns, to_string(event.stage), event.num_frames,
                              event.device.to_string(), event.thread_id);
    };
    py::class_<Profiler>(module, "Profiler")
        .def(py::init<std::size_t>(), py::arg("max_events"), WithoutGil())
        .def("stop", &Profiler::stop, WithoutGil())
        .def("elapsed_ns", &Profiler::elapsed_ns, WithoutGil())
        .def("num_dropped_events", &Profiler::num_dropped_events, WithoutGil())
        .def("num_missed_events", &Profiler::num_missed_events, WithoutGil())
        .def(
            "stages",
            [](const Profiler& self) {
                return list_of([&] { return self.stages(); },
                               [](const StageTime& time) {
                                   return py::make_tuple(to_string(time.stage), time.num_calls, time.num_frames,
                                                         time.host_ns, time.gpu_ns);
                               });
            },
            "(name, calls, frames, nanoseconds of the host, nanoseconds of GPUs) of each stage that was passed.")
        .def(
            "events",
            [event_tuple](const Profiler& self) { return list_of([&] { return self.events(); }, event_tuple); },
            "(begin, duration, stage, frames, device, thread) of each event that was kept; times in nanoseconds.")
        .def(
            "take_events",
            [event_tuple](Profiler& self) { return list_of([&] { return self.take_events(); }, event_tuple); },
            "The events that no earlier call returned.");
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
                                   return py::make_tuple(event.time_ns, event.name(), to_string(event.action),
                                                         event.size_bytes, event.in_use_bytes);
                               });
            },
            "(nanoseconds, allocator, action, bytes, bytes in use after it) of each event that was kept.");
}

}  // namespace tricodec::python
