// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/base/device.h"

namespace tricodec {

class Buffer;

/// An NVIDIA GPU that this process sees, as the driver describes it.
struct GpuInfo {
    int index = 0;
    std::string name;
    int compute_major = 0;
    int compute_minor = 0;
    std::size_t total_memory_bytes = 0;
};

/// The GPUs that this process sees; none without a driver. Never throws for a missing or broken driver.
[[nodiscard]] std::vector<GpuInfo> gpus();
/// The CUDA version that the driver brings, as 13000 for 13.0; 0 without a driver.
[[nodiscard]] int cuda_driver_version() noexcept;
/// Why GPU `index` cannot be used by this library, for people; empty if it can.
[[nodiscard]] std::string gpu_unusable_reason(int index);
/// Why GPU `index` cannot do all that this library does on GPUs: the reason above, or that this build has no kernels
/// for it, so that it decodes but transforms nothing. "auto" leaves such a GPU alone. Empty if it can.
[[nodiscard]] std::string gpu_incomplete_reason(int index);

/// A stream of the calling thread's own on a GPU, without implicit waits for the default stream: made when first
/// needed, gone with the thread. It is of the context that `beside` is in, or of the device's primary one. Throws
/// Error(device).
[[nodiscard]] StreamView thread_stream(Device device, const Buffer* beside = nullptr);
/// The host waits for what is queued on `stream` of `device` so far, and for nothing else. Throws Error(device) if that
/// work failed.
void wait_for(StreamView stream, Device device);
/// The GPU that has the memory at `pointer`; nothing for host memory and for addresses that the driver does not know.
[[nodiscard]] std::optional<Device> gpu_of(const void* pointer);

/// Makes a GPU this thread's current one, by its primary context, as long as it lives: for calls into libraries that
/// look at the current device. Does nothing for the CPU, for the GPU that is current already, without a driver, and
/// where that context cannot be had.
class CurrentGpu {
public:
    explicit CurrentGpu(Device device) noexcept;
    CurrentGpu(const CurrentGpu&) = delete;
    CurrentGpu& operator=(const CurrentGpu&) = delete;
    ~CurrentGpu() = default;

private:
    std::shared_ptr<void> scope_;
};

}  // namespace tricodec
