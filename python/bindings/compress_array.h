// SPDX-License-Identifier: Apache-2.0
/// The arrays of nvCOMP's Python interface: bytes on the CPU or a GPU with a shape and an element type.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "extents.h"
#include "tricodec/buffer.h"
#include "tricodec/compress.h"
#include "tricodec/cuda_stream.h"
#include "tricodec/gpu.h"

namespace tricodec::python {

namespace py = pybind11;

/// Work on a GPU whose results nobody has looked at yet.
class PendingResults {
public:
    PendingResults() = default;
    PendingResults(const PendingResults&) = delete;
    PendingResults& operator=(const PendingResults&) = delete;
    virtual ~PendingResults() = default;
    /// Waits for the work once, and fills its arrays in; raises each time what went wrong. Without the interpreter's
    /// lock.
    virtual void finish() = 0;
    /// True once finish() has nothing left to do or to raise.
    [[nodiscard]] virtual bool is_finished() const noexcept = 0;
};

/// Memory with a shape. Unlike the core's tensors the element type may be any of numpy's.
struct CompressArray {
    std::byte* data = nullptr;
    std::string typestr = "|u1";
    std::int64_t itemsize = 1;
    Extents shape;
    Extents strides;  // in bytes
    Device device{};
    StreamView stream{};                       // on a GPU: what is queued on it writes the bytes
    std::shared_ptr<CudaStream> stream_owner;  // keeps a codec's own stream, which outlives the codec here
    std::size_t capacity = 0;                  // bytes behind `data`
    bool read_only = false;
    bool owned = false;              // made by a codec, which may give it other memory
    std::shared_ptr<void> memory;    // keeps the bytes, unless `buffer` does
    std::shared_ptr<Buffer> buffer;  // of our own, which on a GPU knows the work on them
    std::shared_ptr<PendingResults> pending;

    /// Whoever looks at an array calls this first. The interpreter's lock is held.
    void touch() const;

    [[nodiscard]] std::int64_t size() const noexcept;
    /// Bytes from the first element to the end of the last.
    [[nodiscard]] std::int64_t span_bytes() const noexcept;
    [[nodiscard]] bool is_contiguous() const noexcept;
};

using ArrayPtr = std::shared_ptr<CompressArray>;

/// The array behind an object: one of these, a DLPack capsule, or anything with __cuda_array_interface__,
/// __array_interface__, __dlpack__ or the buffer protocol. Nothing is copied; the object is kept.
[[nodiscard]] ArrayPtr to_array(const py::object& source, std::uintptr_t stream = 0);
/// Of each object, in order.
[[nodiscard]] std::vector<ArrayPtr> to_arrays(const py::sequence& sources);
/// The same for DLPack alone.
[[nodiscard]] ArrayPtr from_dlpack(const py::object& source, std::uintptr_t stream = 0);

/// Of the elements. numpy has no 8-bit float, whose bits are shown.
[[nodiscard]] py::dtype numpy_dtype(const CompressArray& array);

/// New bytes, from the allocator that was set for the device. The interpreter's lock may be held or not.
[[nodiscard]] ArrayPtr new_array(std::size_t size_bytes, Device device = {}, StreamView stream = {});
/// Buffer::give_up_tail() of a new_array() on the CPU; false for memory of the caller's allocator.
[[nodiscard]] bool give_up_tail(const CompressArray& array, std::size_t used_bytes) noexcept;

/// The bytes of each array as elements of `typestr`, one axis. Raises ValueError if they are no whole number of those.
void set_element_type(std::span<const std::shared_ptr<CompressArray>> arrays, const std::string& typestr);

/// Whether this process sees a GPU.
[[nodiscard]] bool gpu_present();

/// A C-contiguous array with the same elements: itself, or a copy.
[[nodiscard]] ArrayPtr contiguous(const ArrayPtr& array);

}  // namespace tricodec::python
