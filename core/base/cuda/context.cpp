// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/context.h"

#include <array>
#include <map>
#include <mutex>

#include "base/cuda/event.h"
#include "base/cuda/memory.h"
#include "base/cuda/memory_report.h"
#include "tricodec/error.h"

namespace tricodec::cuda {
namespace {

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

int attribute(DeviceAttribute which, DeviceHandle device) {
    int value = 0;
    check(api().device_get_attribute(&value, which, device), "asking a GPU for its properties");
    return value;
}

struct Registry {
    std::mutex mutex;
    std::map<int, std::shared_ptr<Context>> primaries;
    std::map<ContextHandle, std::weak_ptr<Context>> borrowed;
};

// Leaked on purpose: static objects of the application may hold frames until the very end.
Registry& registry() {
    static auto* all = new Registry;
    return *all;
}

}  // namespace

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

Context::Context(ContextHandle handle, int index, bool primary)
    : handle_(handle), index_(index), primary_(primary), properties_(device_properties(index)) {
    event_pool_ = std::make_unique<EventPool>(*this);
    device_pool_ = std::make_unique<DevicePool>(*this);
    pinned_pool_ = std::make_unique<PinnedPool>(*this);
    decoder_use_ = std::make_unique<DecoderUse>(device());  // last: is_complete()
}

Context::~Context() {
    pinned_pool_.reset();
    device_pool_.reset();
    event_pool_.reset();
}

std::shared_ptr<Context> Context::primary(int index) {
    const DeviceHandle device = device_handle(index);
    auto& all = registry();
    std::lock_guard lock(all.mutex);
    auto& slot = all.primaries[index];
    if (!slot) {
        ContextHandle handle = nullptr;
        check(api().primary_context_retain(&handle, device), "starting CUDA on cuda:" + std::to_string(index));
        slot = std::shared_ptr<Context>(new Context(handle, index, true));
    }
    return slot;
}

std::shared_ptr<Context> Context::borrow(ContextHandle handle) {
    TRICODEC_EXPECT(handle != nullptr, invalid_argument, "the CUDA context is null; pass 0 for the primary context");
    int index = 0;
    {
        ContextScope scope(handle);
        check(api().context_get_device(&index), "asking a context for its GPU");
    }
    {
        ContextHandle own = primary(index)->handle();
        if (own == handle) return primary(index);
    }
    auto& all = registry();
    std::lock_guard lock(all.mutex);
    auto& slot = all.borrowed[handle];
    auto context = slot.lock();
    if (!context) {
        context = std::shared_ptr<Context>(new Context(handle, index, false));
        slot = context;
    }
    return context;
}

std::shared_ptr<Context> Context::of_caller(std::uintptr_t handle, Device device) {
    if (handle == 0) return primary(device.index);
    auto context = borrow(reinterpret_cast<ContextHandle>(handle));
    TRICODEC_EXPECT(context->device() == device, invalid_argument,
                    "the CUDA context is of " + context->device().to_string() + ", but " + device.to_string() +
                        " was asked for; name the context's device");
    return context;
}

std::shared_ptr<Context> Context::of(StreamView stream, int index) {
    if (stream.handle <= 2) return primary(index);
    ContextHandle handle = nullptr;
    check(api().stream_get_context(handle_of(stream), &handle), "asking a stream for its context");
    return borrow(handle);
}

ContextScope::ContextScope(ContextHandle handle) {
    check(api().context_push(handle), "making a CUDA context current");
}

ContextScope::~ContextScope() {
    ContextHandle popped = nullptr;
    if (const Api* driver = try_api()) driver->context_pop(&popped);
}

Stream::Stream(std::shared_ptr<Context> context) : context_(std::move(context)) {
    ContextScope scope(*context_);
    check_memory(*context_, api().stream_create(&handle_, kStreamNonBlocking), "making a CUDA stream");
}

Stream::~Stream() {
    if (const Api* driver = try_api()) driver->stream_destroy(handle_);
}

void Stream::synchronize() const {
    ContextScope scope(*context_);
    check(api().stream_synchronize(handle_), "waiting for a CUDA stream");
}

}  // namespace tricodec::cuda
