// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>

#include "bindings.h"
#include "compress_array.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"

namespace tricodec::python {
namespace {

enum class Kind { device, pinned, host };

// References are held until another allocator is set, or to the end of the process.
std::array<PyObject*, 3> g_allocators{};
std::array<std::atomic<bool>, 3> g_is_set{};

void set_allocator(Kind kind, const py::object& allocator) {
    if (!allocator.is_none() && PyCallable_Check(allocator.ptr()) == 0) {
        throw py::type_error(
            "allocator must be None or a function (nbytes, stream) that returns an object with an integer "
            "'ptr', not " +
            shown(allocator));
    }
    const auto index = static_cast<std::size_t>(kind);
    PyObject* before = g_allocators.at(index);
    g_allocators.at(index) = allocator.is_none() ? nullptr : py::object(allocator).release().ptr();
    g_is_set.at(index) = !allocator.is_none();
    Py_XDECREF(before);
}

/// Refuses an address that is no memory of this process, before a codec writes there.
void expect_memory(Kind kind, std::uintptr_t address, std::size_t size_bytes) {
    if (size_bytes == 0) return;
    bool mapped = false;
    if (kind == Kind::device) {
        mapped = gpu_of(reinterpret_cast<void*>(address)).has_value();
    } else {  // msync() with nothing to write only looks whether the pages are there
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const std::uintptr_t first = address / page * page;
        std::uintptr_t end = 0;
        mapped = !__builtin_add_overflow(address, size_bytes, &end) &&
                 msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0;
    }
    if (!mapped) {
        throw py::value_error("the allocator returned ptr " + std::to_string(address) +
                              ", which is not the address of " + std::to_string(size_bytes) + " bytes of memory " +
                              (kind == Kind::device ? "on a GPU" : "in this process"));
    }
}

ForeignMemory call(Kind kind, std::size_t size_bytes, int device_index, StreamView stream) {
    PyObject* function = g_allocators.at(static_cast<std::size_t>(kind));
    if (function == nullptr) return {};
    const auto allocator = py::reinterpret_borrow<py::object>(function);
    py::object memory =
        allocator(size_bytes, CudaStream::borrow(stream.handle, stream.handle <= 2 ? device_index : -1));
    if (!has_attribute(memory, "ptr") || PyLong_Check(py::object(memory.attr("ptr")).ptr()) == 0) {
        throw py::type_error("the allocator returned " + shown(memory) + ", which has no integer attribute 'ptr'");
    }
    const auto address = fit<std::uintptr_t>(memory.attr("ptr"), "the allocator returned memory with ptr");
    TRICODEC_EXPECT(address != 0 || size_bytes == 0, out_of_memory,
                    "the allocator returned " + shown(memory) + " with ptr 0 for " + std::to_string(size_bytes) +
                        " bytes: it has no memory left; free some, or restore tricodec's own with None");
    expect_memory(kind, address, size_bytes);
    return {reinterpret_cast<void*>(address), share_object(std::move(memory))};
}

ForeignMemory allocate(Kind kind, std::size_t size_bytes, int device_index, StreamView stream) {
    if (!g_is_set.at(static_cast<std::size_t>(kind))) return {};
    if (PyGILState_Check() != 0) return call(kind, size_bytes, device_index, stream);
    return with_lock([&]() -> ForeignMemory {
        try {
            return call(kind, size_bytes, device_index, stream);
        } catch (py::error_already_set& error) {
            throw PythonError(error);
        } catch (py::builtin_exception& error) {
            error.set_error();
            py::error_already_set raised;
            throw PythonError(raised);
        }
    });
}

/// Keeps memory and the stream that its release needs; the memory goes first.
class ExternalMemory {
public:
    ExternalMemory(py::object memory, py::object stream) : stream_(std::move(stream)), memory_(std::move(memory)) {
        if (!has_attribute(memory_, "ptr")) {
            throw py::type_error("mem_handle must have an attribute 'ptr', which " + shown(memory_) + " has not");
        }
    }
    [[nodiscard]] py::object pointer() const { return memory_.attr("ptr"); }

private:
    py::object stream_;
    py::object memory_;  // declared last: dropped first
};

}  // namespace

bool has_device_allocator() noexcept {
    return g_is_set[static_cast<std::size_t>(Kind::device)];
}

bool has_host_allocator() noexcept {
    return g_is_set[static_cast<std::size_t>(Kind::host)];
}

ForeignMemory allocate_by_caller(std::size_t size_bytes, Device device, StreamView stream) {
    return allocate(device.kind == Device::Kind::cpu ? Kind::host : Kind::device, size_bytes, device.index, stream);
}

ForeignMemory allocate_pinned_by_caller(std::size_t size_bytes, int device_index, StreamView stream) {
    return allocate(Kind::pinned, size_bytes, device_index, stream);
}

void bind_compress_memory(py::module_& module) {
    py::class_<CudaStream, std::shared_ptr<CudaStream>> stream(
        module, "CudaStream",
        "A CUDA stream with its device, as allocators get it: a view of another stream, or a stream of its own.\n\n"
        "There is no constructor; use `borrow` and `make_new`.\n\n"
        "Thread safety: safe.");
    publish(stream);
    stream
        .def_static(
            "borrow", &CudaStream::borrow, py::arg("cuda_stream"), py::arg("device_idx") = -1,
            "A view of a stream, which it never destroys.\n\n"
            "Args:\n"
            "    cuda_stream: cudaStream_t as an int; 0 is the default stream, 1 the legacy and 2 the per-thread "
            "one.\n"
            "    device_idx: for those three the device they are used on, -1 the current one; for others -1 or the\n"
            "        stream's own device.\n"
            "Raises:\n"
            "    ValueError: if device_idx is another device than the stream's.\n"
            "    DeviceError: for a stream that is none of the three where there is no driver.")
        .def_static("make_new", &CudaStream::make_new, py::arg("device_idx") = -1,
                    "A new stream, destroyed with the last reference.\n\n"
                    "Args:\n"
                    "    device_idx: the device; -1 the current one.\n"
                    "Raises:\n"
                    "    DeviceError: if there is no GPU.")
        .def_property_readonly("device", &CudaStream::device_index, "Index of the stream's device.")
        .def_property_readonly("is_special", &CudaStream::is_special,
                               "Whether this is a default stream, of which each device has one.")
        .def_property_readonly(
            "ptr", [](const CudaStream& self) { return self.view().handle; }, "cudaStream_t as an int.");

    py::class_<ExternalMemory> memory(module, "ExternalMemory",
                                      "Memory of another library, with the stream that its release needs.\n\n"
                                      "It drops the memory first and the stream after it.\n\n"
                                      "Thread safety: safe.");
    publish(memory);
    memory
        .def(py::init<py::object, py::object>(), py::arg("mem_handle"), py::arg("stream_handle") = py::none(),
             "Args:\n"
             "    mem_handle: an object with an integer attribute ``ptr``, which frees its memory when it is "
             "destroyed.\n"
             "    stream_handle: an object that must live as long, usually the `CudaStream` that an allocator was "
             "given.\n"
             "Raises:\n"
             "    TypeError: if mem_handle has no ``ptr``.")
        .def_property_readonly("ptr", &ExternalMemory::pointer, "Address of the memory: mem_handle's ``ptr``.");

    const auto define = [&](const char* name, Kind kind, const char* text) {
        module.def(
            name, [kind](const py::object& allocator) { set_allocator(kind, allocator); },
            py::arg("allocator") = py::none(), text);
    };
    define(
        "set_device_allocator", Kind::device,
        "Set the allocator of results on GPUs; existing buffers keep their memory.\n\n"
        "Args:\n"
        "    allocator: called with (nbytes: int, stream: CudaStream); returns an object with an integer attribute "
        "``ptr``\n"
        "        that frees the memory when it is destroyed, with ptr 0 if there is none: an OutOfMemoryError. None\n"
        "        restores tricodec's own.\n"
        "Raises:\n"
        "    TypeError: if it cannot be called.");
    define("set_pinned_allocator", Kind::pinned,
           "Set the allocator of the page-locked host memory for copies of sizes and tables to a GPU and back, as in\n"
           "`set_device_allocator`. Memory that is not page-locked works, only slower.");
    define("set_host_allocator", Kind::host, "Set the allocator of results on the CPU, as in `set_device_allocator`.");
}

}  // namespace tricodec::python
