// SPDX-License-Identifier: Apache-2.0
/// The allocators of nvCOMP's Python interface: functions of the caller that give memory for results.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>

#include "tricodec/base/device.h"

namespace tricodec::python {

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

}  // namespace tricodec::python
