// SPDX-License-Identifier: Apache-2.0
#include "tricodec/gpu.h"

#include "base/cuda/context.h"
#include "tricodec/error.h"

namespace tricodec {
namespace {

constexpr int kOldestCompute = 75;  // Turing: the oldest that the kernels are compiled for

}  // namespace

std::vector<GpuInfo> gpus() {
    std::vector<GpuInfo> found;
    const auto* driver = cuda::try_api();
    for (int index = 0; driver != nullptr && index < driver->num_devices; ++index) {
        try {
            const auto properties = cuda::device_properties(index);
            found.push_back(
                {index, properties.name, properties.major, properties.minor, properties.total_memory_bytes});
        } catch (const Error&) {
            break;  // a GPU that fell off the bus: the ones before it are still there
        }
    }
    return found;
}

int cuda_driver_version() noexcept {
    const auto* driver = cuda::try_api();
    return driver == nullptr ? 0 : driver->driver_version;
}

std::string gpu_unusable_reason(int index) {
#ifndef TRICODEC_HAVE_NVDEC
    (void)index;
    (void)kOldestCompute;
    return "this build of tricodec has no GPU engine: NVIDIA's codec headers (ffnvcodec) were missing when it was "
           "built";
#else
    std::string_view reason;
    if (cuda::try_api(&reason) == nullptr) return std::string(reason);
    try {
        const auto properties = cuda::device_properties(index);
        if (properties.major * 10 + properties.minor < kOldestCompute) {
            return properties.name + " has compute capability " + std::to_string(properties.major) + "." +
                   std::to_string(properties.minor) + "; 7.5 (Turing) or newer is needed";
        }
    } catch (const Error& error) {
        return error.what();
    }
    return {};
#endif
}

}  // namespace tricodec
