// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/gpu.h"

#include <exception>
#include <memory>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "base/cuda/kernel_set.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"

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

std::string gpu_incomplete_reason(int index) {
    std::string reason = gpu_unusable_reason(index);
    if (!reason.empty()) return reason;
    const auto properties = cuda::device_properties(index);
    return cuda::missing_kernels_reason(properties.name, properties.major, properties.minor);
}

StreamView thread_stream(Device device, const Buffer* beside) {
    auto context = beside == nullptr ? nullptr : beside->context();
    return cuda::thread_stream(context ? context : cuda::Context::primary(device.index));
}

void wait_for(StreamView stream, Device device) {
    const auto context = cuda::Context::of(stream, device.index);
    cuda::Event::record(*context, stream).wait();
}

std::optional<Device> gpu_of(const void* pointer) {
    const auto* driver = cuda::try_api();
    if (driver == nullptr || pointer == nullptr) return std::nullopt;
    const auto address = reinterpret_cast<cuda::DevicePointer>(pointer);
    unsigned type = 0;
    int index = 0;
    if (driver->pointer_get_attribute(&type, cuda::PointerAttribute::memory_type, address) != cuda::kSuccess ||
        type != static_cast<unsigned>(cuda::MemoryType::device) ||
        driver->pointer_get_attribute(&index, cuda::PointerAttribute::device_ordinal, address) != cuda::kSuccess) {
        return std::nullopt;
    }
    return Device{Device::Kind::cuda, index};
}

CurrentGpu::CurrentGpu(Device device) noexcept {
    if (device.kind != Device::Kind::cuda) return;  // before the driver is looked for
    const auto* driver = cuda::try_api();
    if (driver == nullptr) return;
    cuda::ContextHandle current = nullptr;
    cuda::DeviceHandle index = -1;
    if (driver->context_get_current(&current) == cuda::kSuccess && current != nullptr &&
        driver->context_get_device(&index) == cuda::kSuccess && index == device.index) {
        return;
    }
    try {
        scope_ = std::make_shared<cuda::ContextScope>(*cuda::Context::primary(device.index));
    } catch (const std::exception&) {  // the library that is called says what is wrong
    }
}

}  // namespace tricodec
