// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>

#include "base/cuda/memory.h"
#include "base/cuda/memory_report.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"

namespace tricodec::cuda {
namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kSmallest = 512;         // what the driver aligns to
constexpr std::size_t kLargeStep = 64 * 1024;  // of sizes from 1 MiB on, so that nearly equal ones share blocks
constexpr std::size_t kKeptPinnedBytes = 256 * kMiB;
constexpr std::size_t kMostAsked = 8;  // blocks whether they are unused, for one that is wanted: a question takes 1 us

std::size_t rounded(std::size_t size_bytes) {
    if (size_bytes < kMiB) return std::max(kSmallest, std::bit_ceil(size_bytes));
    return (size_bytes + kLargeStep - 1) / kLargeStep * kLargeStep;
}

std::string mebibytes(std::size_t size_bytes) {
    return std::to_string((size_bytes + kMiB - 1) / kMiB) + " MiB";
}

bool is_unused(const Block& block) {
    try {
        return std::all_of(block.pending.begin(), block.pending.end(),
                           [](const SharedEvent& event) { return event->done(); });
    } catch (const Error&) {
        return false;  // the work failed: the next caller that wants memory does not report it
    }
}

}  // namespace

DevicePool::DevicePool(Context& context)
    : context_(context),
      kept_bytes_(std::clamp<std::size_t>(context.properties().total_memory_bytes / 16, 256 * kMiB, 8192 * kMiB)),
      counter_(MemoryKind::device, context.device()) {
    const auto& driver = api();
    ContextScope scope(context);
    check_memory(context, driver.stream_create(&service_stream_, kStreamNonBlocking), "making a CUDA stream");
    if (driver.memory_pool_create == nullptr || driver.memory_allocate_async == nullptr ||
        driver.memory_free_async == nullptr) {
        return;
    }
    int supported = 0;
    DeviceHandle device = 0;
    if (driver.device_get(&device, context.device().index) != kSuccess ||
        driver.device_get_attribute(&supported, DeviceAttribute::memory_pools_supported, device) != kSuccess ||
        supported == 0) {
        return;
    }
    MemoryPoolProperties properties;
    properties.location_id = device;
    if (driver.memory_pool_create(&driver_pool_, &properties) != kSuccess) driver_pool_ = nullptr;
}

DevicePool::~DevicePool() {
    trim();
    const Api* driver = try_api();
    if (driver == nullptr) return;
    if (driver_pool_ != nullptr) driver->memory_pool_destroy(driver_pool_);
    driver->stream_destroy(service_stream_);
}

Block DevicePool::allocate(std::size_t size_bytes, StreamView stream) {
    const std::size_t size = rounded(size_bytes);
    Block block = take_idle(size, Taken::unused);
    if (block.data == nullptr) block = allocate_fresh(size, stream);
    try {
        for (const auto& event : block.pending) {
            if (event->done()) continue;
            event->wait_on(stream);
            block.in_order = true;
        }
    } catch (...) {
        release(std::move(block));
        throw;
    }
    block.pending.clear();
    return block;
}

Block DevicePool::take_idle(std::size_t size_bytes, Taken which) {
    std::lock_guard lock(mutex_);
    const auto found = idle_.find(size_bytes);
    if (found == idle_.end()) return {};
    auto& blocks = found->second;
    // Blocks asked about in vain go to the end of the line: they are in use until now, and not asked about next time.
    const auto most = std::min(blocks.size(), kMostAsked);
    bool unused = is_unused(blocks.front());
    for (std::size_t asked = 1; asked < most && !unused; ++asked) {
        blocks.front().idle_since = ++num_given_back_;
        blocks.push_back(std::move(blocks.front()));
        blocks.pop_front();
        unused = is_unused(blocks.front());
    }
    if (!unused && which == Taken::unused && counter_.idle_bytes() + size_bytes <= kept_bytes_) return {};
    Block block = std::move(blocks.front());
    block.in_order = false;
    blocks.pop_front();
    if (blocks.empty()) idle_.erase(found);
    counter_.add(MemoryAction::reuse, size_bytes);
    return block;
}

Result DevicePool::try_allocate(DevicePointer& pointer, std::size_t size_bytes, StreamView stream) {
    const auto& driver = api();
    if (driver_pool_ == nullptr) return driver.memory_allocate(&pointer, size_bytes);
    return driver.memory_allocate_async(&pointer, size_bytes, driver_pool_, handle_of(stream));
}

Block DevicePool::allocate_fresh(std::size_t size_bytes, StreamView stream) {
    ContextScope scope(context_);
    DevicePointer pointer = 0;
    Result result = try_allocate(pointer, size_bytes, stream);
    if (result == kOutOfMemory) {
        if (auto block = take_idle(size_bytes, Taken::any); block.data != nullptr) return block;
        trim();
        result = try_allocate(pointer, size_bytes, stream);
    }
    if (result == kOutOfMemory) {
        reclaim_memory();
        result = try_allocate(pointer, size_bytes, stream);
    }
    if (result == kOutOfMemory) fail_out_of_memory(context_, size_bytes, "a frame or a tensor");
    check(result, "allocating " + mebibytes(size_bytes) + " on " + context_.device().to_string());
    Block block;
    block.data = reinterpret_cast<void*>(pointer);
    block.size_bytes = size_bytes;
    block.in_order = driver_pool_ != nullptr;
    counter_.add(MemoryAction::allocate, size_bytes);
    return block;
}

void DevicePool::release(Block block) noexcept {
    try {
        std::vector<Block> surplus;
        {
            std::lock_guard lock(mutex_);
            const std::size_t size = block.size_bytes;
            counter_.add(MemoryAction::release, size);
            if (size > kept_bytes_) {
                counter_.add(MemoryAction::free, size);
                surplus.push_back(std::move(block));
            } else {
                block.idle_since = ++num_given_back_;
                idle_[size].push_back(std::move(block));
                surplus = take_surplus(kept_bytes_);
            }
        }
        for (auto& each : surplus) free(std::move(each));
    } catch (...) {
        log(LogLevel::warning, "out of host memory: a piece of device memory is lost");
    }
}

// What exceeds `keep_bytes`, the longest idle first: what is used over and over stays, whatever its size.
std::vector<Block> DevicePool::take_surplus(std::size_t keep_bytes) {
    std::vector<Block> surplus;
    while (counter_.idle_bytes() > keep_bytes && !idle_.empty()) {
        const auto oldest = std::min_element(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) {
            return a.second.front().idle_since < b.second.front().idle_since;
        });
        auto& blocks = oldest->second;
        counter_.add(MemoryAction::free, oldest->first);
        surplus.push_back(std::move(blocks.front()));
        blocks.pop_front();
        if (blocks.empty()) idle_.erase(oldest);
    }
    return surplus;
}

void DevicePool::free(Block block) noexcept {
    const Api* driver = try_api();
    if (driver == nullptr) return;
    try {
        ContextScope scope(context_);
        const auto pointer = reinterpret_cast<DevicePointer>(block.data);
        if (driver_pool_ == nullptr) {
            for (const auto& event : block.pending) event->wait();
            driver->memory_free(pointer);
            return;
        }
        const StreamView service{reinterpret_cast<std::uintptr_t>(service_stream_)};
        for (const auto& event : block.pending) event->wait_on(service);
        driver->memory_free_async(pointer, service_stream_);
    } catch (const std::exception& error) {
        log(LogLevel::warning, std::string("device memory could not be freed: ") + error.what());
    }
}

void DevicePool::trim() noexcept {
    try {
        std::vector<Block> all;
        {
            std::lock_guard lock(mutex_);
            all = take_surplus(0);
        }
        for (auto& block : all) free(std::move(block));
        const Api* driver = try_api();
        if (driver == nullptr || driver_pool_ == nullptr) return;
        ContextScope scope(context_);
        driver->stream_synchronize(service_stream_);
        if (driver->memory_pool_trim != nullptr) driver->memory_pool_trim(driver_pool_, 0);
    } catch (const std::exception& error) {
        log(LogLevel::warning, std::string("device memory could not be freed: ") + error.what());
    }
}

PinnedPool::~PinnedPool() {
    const Api* driver = try_api();
    if (driver == nullptr) return;
    for (auto& [size, blocks] : idle_) {
        for (auto& block : blocks) {
            driver->host_free(block.data);
            counter_.add(MemoryAction::free, size);
        }
    }
}

void PinnedPool::trim() noexcept {
    std::vector<Block> all;
    {
        std::lock_guard lock(mutex_);
        for (auto& [size, blocks] : idle_) {
            std::erase_if(blocks, [&](Block& block) {
                if (!is_unused(block)) return false;
                counter_.add(MemoryAction::free, block.size_bytes);
                all.push_back(std::move(block));
                return true;
            });
        }
    }
    const Api* driver = try_api();
    for (const auto& block : all) {
        if (driver != nullptr) driver->host_free(block.data);
    }
}

Block PinnedPool::allocate(std::size_t size_bytes) {
    const std::size_t size = rounded(size_bytes);
    {
        std::lock_guard lock(mutex_);
        if (const auto it = idle_.find(size); it != idle_.end()) {
            auto& blocks = it->second;
            const auto unused = std::find_if(blocks.begin(), blocks.end(), is_unused);
            if (unused != blocks.end()) {
                Block block = std::move(*unused);
                blocks.erase(unused);
                block.pending.clear();
                counter_.add(MemoryAction::reuse, size);
                return block;
            }
        }
    }
    ContextScope scope(context_);
    Block block;
    block.size_bytes = size;
    Result result = api().host_allocate(&block.data, size, kHostMemoryPortable);
    if (result == kOutOfMemory) {
        trim();
        result = api().host_allocate(&block.data, size, kHostMemoryPortable);
    }
    if (result == kOutOfMemory) fail_out_of_pinned_memory(context_, size);
    check(result, "locking host memory for the GPU");
    counter_.add(MemoryAction::allocate, size);
    return block;
}

void PinnedPool::release(Block block) noexcept {
    try {
        {
            std::lock_guard lock(mutex_);
            const bool kept = counter_.idle_bytes() + block.size_bytes <= kKeptPinnedBytes;
            counter_.add(MemoryAction::release, block.size_bytes);
            if (kept) {
                idle_[block.size_bytes].push_back(std::move(block));
                return;
            }
            counter_.add(MemoryAction::free, block.size_bytes);
        }
        for (const auto& event : block.pending) event->wait();
        if (const Api* driver = try_api()) driver->host_free(block.data);
    } catch (const std::exception& error) {
        log(LogLevel::warning, std::string("locked host memory could not be freed: ") + error.what());
    }
}

}  // namespace tricodec::cuda
