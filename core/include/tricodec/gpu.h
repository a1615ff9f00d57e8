// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tricodec {

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

}  // namespace tricodec
