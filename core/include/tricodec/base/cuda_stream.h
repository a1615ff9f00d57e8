// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tricodec/base/device.h"

namespace tricodec {

namespace cuda {
class Stream;
}

/// A CUDA stream with its device: a caller's, or one of our own that ends with the last reference.
class CudaStream {
public:
    /// A view. For the default streams (0, 1 legacy, 2 per thread), which belong to no device, `device_index` says
    /// which they are used on, -1 the current one. For others it is -1 or the stream's own device, else
    /// Error(invalid_argument). Without a driver only default streams can be borrowed.
    [[nodiscard]] static std::shared_ptr<CudaStream> borrow(std::uintptr_t handle, int device_index = -1);
    /// A new stream on a device, -1 the current one. Throws Error(device) without a GPU.
    [[nodiscard]] static std::shared_ptr<CudaStream> make_new(int device_index = -1);

    [[nodiscard]] int device_index() const noexcept { return device_index_; }
    [[nodiscard]] bool is_special() const noexcept { return view_.handle <= 2; }
    [[nodiscard]] StreamView view() const noexcept { return view_; }
    /// The host waits for what is queued on it.
    void synchronize() const;

private:
    CudaStream(StreamView view, int device_index, std::shared_ptr<cuda::Stream> owned)
        : view_(view), device_index_(device_index), owned_(std::move(owned)) {}
    StreamView view_;
    int device_index_;
    std::shared_ptr<cuda::Stream> owned_;
};

/// Records a caller's event behind what is queued on `stream` so far; the call does not wait. The event is of the
/// stream's context, for the default streams of the primary one of GPU `device_index`. Throws Error(device) for others.
void record_event(EventView event, StreamView stream, int device_index);

/// Copies bytes between host memory and GPUs. `stream` is one of the GPU's; the call waits if `wait`, or if host memory
/// that is not page-locked is written.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t size_bytes,
                StreamView stream, bool wait);

/// Which GPU memory is on, or the CPU; for page-locked and managed memory too the CPU, which can read it.
[[nodiscard]] Device device_of_memory(const void* data);

}  // namespace tricodec
