// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/context.h"

#include <array>

#include "tricodec/base/error.h"

namespace tricodec::cuda {
namespace {

int attribute(DeviceAttribute which, DeviceHandle device) {
    int value = 0;
    check(api().device_get_attribute(&value, which, device), "asking a GPU for its properties");
    return value;
}

}  // namespace

DeviceHandle device_handle(int index) {
    const auto& driver = api();
    TRICODEC_EXPECT(index >= 0 && index < driver.num_devices, device,
                    "there is no GPU cuda:" + std::to_string(index) + "; this process sees " +
                        std::to_string(driver.num_devices) +
                        " (cuda:0..cuda:" + std::to_string(driver.num_devices - 1) + ")");
    DeviceHandle device = 0;
    check(driver.device_get(&device, index), "finding cuda:" + std::to_string(index));
    return device;
}

DeviceProperties device_properties(int index) {
    const DeviceHandle device = device_handle(index);
    DeviceProperties properties;
    std::array<char, 256> name{};
    check(api().device_get_name(name.data(), static_cast<int>(name.size()) - 1, device), "asking a GPU for its name");
    properties.name = name.data();
    properties.major = attribute(DeviceAttribute::major, device);
    properties.minor = attribute(DeviceAttribute::minor, device);
    properties.multiprocessors = attribute(DeviceAttribute::multiprocessors, device);
    properties.max_shared_memory_per_block_bytes =
        static_cast<std::size_t>(attribute(DeviceAttribute::max_shared_memory_per_block_optin, device));
    check(api().device_total_memory(&properties.total_memory_bytes, device), "asking a GPU for its memory");
    return properties;
}

ContextScope::ContextScope(ContextHandle handle) {
    check(api().context_push(handle), "making a CUDA context current");
}

ContextScope::~ContextScope() {
    ContextHandle popped = nullptr;
    if (const Api* driver = try_api()) driver->context_pop(&popped);
}

}  // namespace tricodec::cuda
