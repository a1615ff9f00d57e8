// SPDX-License-Identifier: Apache-2.0
// Where the pools of a context get their memory from: the driver.
#include <algorithm>
#include <bit>
#include <string>

#include "base/bytes.h"
#include "base/cuda/memory.h"
#include "base/cuda/memory_report.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"

namespace tricodec::cuda {
namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kSmallest = 512;         // what the driver aligns to
constexpr std::size_t kLargeStep = 64 * 1024;  // of sizes from 1 MiB on, so that nearly equal ones share blocks

class DriverMemory : public MemorySource {
public:
    explicit DriverMemory(Context& context) : context_(context) {}

    [[nodiscard]] std::size_t block_bytes(std::size_t requested_bytes) const noexcept override {
        return driver_block_bytes(requested_bytes);
    }

    void free(void* data, std::size_t, const std::vector<Block>& blocks) noexcept override {
        try {
            const Api* driver = try_api();
            if (driver == nullptr) return;
            const ContextScope scope(context_);
            for (const Block& block : blocks) {
                for (const auto& event : block.pending) wait(*event);
            }
            free(*driver, data);
        } catch (const std::exception& error) {
            log(LogLevel::warning,
                "memory of " + context_.device().to_string() + " could not be freed: " + error.what());
        }
    }

protected:
    virtual void wait(const Event& event) const { event.wait(); }
    virtual void free(const Api& driver, void* data) noexcept = 0;

    Context& context_;
};

/// Fresh memory comes from the driver's stream-ordered pool where there is one (CUDA 11.2 and a GPU that has it), so
/// that neither growing nor shrinking stops the device.
class DeviceMemory final : public DriverMemory {
public:
    explicit DeviceMemory(Context& context) : DriverMemory(context) {
        const auto& driver = api();
        const ContextScope scope(context);
        check_memory(context, driver.stream_create(&service_stream_, kStreamNonBlocking), "making a CUDA stream");
        if (driver.memory_pool_create == nullptr || driver.memory_allocate_async == nullptr ||
            driver.memory_free_async == nullptr) {
            return;
        }
        int supported = 0;
        MemoryPoolProperties properties;
        if (driver.device_get(&properties.location_id, context.device().index) != kSuccess ||
            driver.device_get_attribute(&supported, DeviceAttribute::memory_pools_supported, properties.location_id) !=
                kSuccess ||
            supported == 0) {
            return;
        }
        if (driver.memory_pool_create(&driver_pool_, &properties) != kSuccess) driver_pool_ = nullptr;
    }

    ~DeviceMemory() override {
        const Api* driver = try_api();
        if (driver == nullptr) return;
        if (driver_pool_ != nullptr) driver->memory_pool_destroy(driver_pool_);
        driver->stream_destroy(service_stream_);
    }

    [[nodiscard]] void* allocate(std::size_t size_bytes, StreamView stream) override {
        const ContextScope scope(context_);
        DevicePointer pointer = 0;
        const Result result = driver_pool_ == nullptr
                                  ? api().memory_allocate(&pointer, size_bytes)
                                  : api().memory_allocate_async(&pointer, size_bytes, driver_pool_, handle_of(stream));
        if (result == kOutOfMemory) return nullptr;
        check(result, "allocating " + mebibytes(size_bytes) + " on " + context_.device().to_string());
        return reinterpret_cast<void*>(pointer);
    }

    void trim() noexcept override {
        const Api* driver = try_api();
        if (driver == nullptr || driver_pool_ == nullptr) return;
        try {
            const ContextScope scope(context_);
            driver->stream_synchronize(service_stream_);
            if (driver->memory_pool_trim != nullptr) driver->memory_pool_trim(driver_pool_, 0);
        } catch (const std::exception& error) {
            log(LogLevel::warning, std::string("device memory could not be freed: ") + error.what());
        }
    }

    void reclaim() noexcept override { reclaim_memory(); }
    [[nodiscard]] bool waits_in_stream() const noexcept override { return true; }

private:
    void wait(const Event& event) const override {
        if (driver_pool_ == nullptr) return event.wait();
        event.wait_on({reinterpret_cast<std::uintptr_t>(service_stream_)});
    }

    void free(const Api& driver, void* data) noexcept override {
        const auto pointer = reinterpret_cast<DevicePointer>(data);
        if (driver_pool_ == nullptr) {
            driver.memory_free(pointer);
        } else {
            driver.memory_free_async(pointer, service_stream_);
        }
    }

    StreamHandle service_stream_ = nullptr;   // memory is freed on it
    MemoryPoolHandle driver_pool_ = nullptr;  // null where the driver has none
};

/// Page-locked host memory, which the GPU copies to and from without the host's help. Locking pages is slow.
class PinnedMemory final : public DriverMemory {
public:
    using DriverMemory::DriverMemory;

    [[nodiscard]] void* allocate(std::size_t size_bytes, StreamView) override {
        const ContextScope scope(context_);
        void* data = nullptr;
        const Result result = api().host_allocate(&data, size_bytes, kHostMemoryPortable);
        if (result == kOutOfMemory) return nullptr;
        check(result, "locking host memory for the GPU");
        return data;
    }

private:
    void free(const Api& driver, void* data) noexcept override { driver.host_free(data); }
};

}  // namespace

std::size_t driver_block_bytes(std::size_t requested_bytes) noexcept {
    if (requested_bytes < kMiB) return std::max(kSmallest, std::bit_ceil(requested_bytes));
    return align_up(requested_bytes, kLargeStep);
}

std::unique_ptr<SizedPool> make_device_pool(Context& context) {
    const std::size_t kept = context.properties().total_memory_bytes / 16;
    return std::make_unique<SizedPool>(std::make_unique<DeviceMemory>(context), MemoryKind::device, context.device(),
                                       std::clamp<std::size_t>(kept, 256 * kMiB, 8192 * kMiB));
}

std::unique_ptr<SizedPool> make_pinned_pool(Context& context) {
    return std::make_unique<SizedPool>(std::make_unique<PinnedMemory>(context), MemoryKind::pinned, context.device(),
                                       kIdlePinnedBytes);
}

}  // namespace tricodec::cuda
