// SPDX-License-Identifier: Apache-2.0
/// Memory by allocators; what users see is in tricodec._memory.
#include "tricodec/memory_tracker.h"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>

#include "bindings.h"

namespace tricodec::python {
namespace {

/// Asks for a list, which may wait for threads that give memory out, and makes a tuple of each of its elements.
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
