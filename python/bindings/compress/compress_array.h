// SPDX-License-Identifier: Apache-2.0
/// The arrays of nvCOMP's Python interface: bytes on the CPU or a GPU with a shape and an element type, in memory of
/// the core or of the allocators that the caller has set.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arrays/array_view.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/gpu.h"
#include "tricodec/compress/compress.h"

namespace tricodec::python {

/// Bytes that codecs take and give.
struct CompressArray : ArrayView {
    std::shared_ptr<CudaStream> stream_owner{};  // keeps a codec's own stream, which outlives the codec here
    std::size_t capacity = 0;                    // bytes behind `data`
    bool owned = false;                          // made by a codec, which may give it other memory
};

using ArrayPtr = std::shared_ptr<CompressArray>;

/// The array behind an object: one of these, or what import_array() takes. Nothing is copied; the object is kept.
/// Work on `stream` writes the memory; 0 is the stream that the object names.
[[nodiscard]] ArrayPtr to_array(const py::object& source, std::uintptr_t stream = 0);
/// Of each object, in order.
[[nodiscard]] std::vector<ArrayPtr> to_arrays(const py::sequence& sources);

/// Memory of the caller's allocator for `device`; `data` is null if none is set. Acquires the interpreter's lock if it
/// is not held. Raises TypeError if what the allocator returns has no integer `ptr`, ValueError if that is no address
/// of memory; throws Error(out_of_memory) if it is 0.
struct ForeignMemory {
    void* data = nullptr;
    std::shared_ptr<void> owner;
};
[[nodiscard]] bool has_device_allocator() noexcept;
[[nodiscard]] bool has_host_allocator() noexcept;
[[nodiscard]] ForeignMemory allocate_by_caller(std::size_t size_bytes, Device device, StreamView stream);
/// The same from the allocator for page-locked memory, for a copy between the host and GPU `device_index`.
[[nodiscard]] ForeignMemory allocate_pinned_by_caller(std::size_t size_bytes, int device_index, StreamView stream);

/// New bytes, from the allocator that was set for the device. The interpreter's lock may be held or not.
[[nodiscard]] ArrayPtr new_array(std::size_t size_bytes, Device device = {}, StreamView stream = {});
/// Buffer::give_up_tail() of a new_array() on the CPU; false for memory of the caller's allocator.
[[nodiscard]] bool give_up_tail(const CompressArray& array, std::size_t used_bytes) noexcept;

/// The typestr of `data_type`, a str or what numpy.dtype() takes. Raises TypeError for elements that hold objects.
[[nodiscard]] std::string to_element_type(const py::object& data_type);
/// The bytes of each array as elements of `typestr`, one axis. Raises ValueError for a part of an element.
void set_element_type(std::span<const std::shared_ptr<CompressArray>> arrays, const std::string& typestr);

/// Whether this process sees a GPU.
[[nodiscard]] bool gpu_present();

/// A C-contiguous array with the same elements: itself, or a copy.
[[nodiscard]] ArrayPtr contiguous(const ArrayPtr& array);

/// A contiguous copy on `device`, made on one of the GPU's streams. If memory or the copy fails it is null, and the log
/// says why. The interpreter's lock is held.
[[nodiscard]] ArrayPtr copied_to(const ArrayPtr& array, Device device, StreamView stream, bool wait);

}  // namespace tricodec::python
