// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/device_queue.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/cuda/driver.h"
#include "base/cuda/kernel_set.h"
#include "base/cuda/memory.h"
#include "base/never_destroyed.h"

#ifdef TRICODEC_HAVE_KERNELS
extern "C" const unsigned char tricodec_kernels_gather_kernel[] __attribute__((visibility("hidden")));
#endif

namespace tricodec::compress::nvcomp {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::chrono::milliseconds kAwake{20};  // most algorithms take less for 64 MiB
constexpr std::size_t kBudgetPart = 4;           // of the free memory: other programs use the GPU too

cuda::KernelSet& kernels() {
#ifdef TRICODEC_HAVE_KERNELS
    const void* bytes = tricodec_kernels_gather_kernel;
#else
    const void* bytes = nullptr;
#endif
    static NeverDestroyed<cuda::KernelSet> all(bytes, "a GPU cannot compress");
    return *all;
}

}  // namespace

DeviceQueue::DeviceQueue(std::shared_ptr<cuda::Context> context, StreamView stream, StagingAllocator staging)
    : context_(std::move(context)), stream_(stream), staging_(std::move(staging)) {
    cuda::expect_not_captured(stream_);
}

DeviceQueue::~DeviceQueue() {
    try {
        cuda::MemoryUse use(stream_);
        for (const Memories* memories : {&memory_, &pinned_}) {
            for (const auto& memory : *memories) use.add(*memory);
        }
        if (!foreign_.empty()) wait();
    } catch (...) {
        // The GPU failed: the queued work will never use the memory.
    }
}

std::byte* DeviceQueue::allocate(std::size_t size_bytes) {
    memory_.push_back(cuda::Memory::allocate_uncaptured(context_, std::max<std::size_t>(size_bytes, 16), stream_));
    return static_cast<std::byte*>(memory_.back()->data());
}

void DeviceQueue::release_from(std::size_t mark) {
    cuda::MemoryUse use(stream_);
    for (std::size_t i = mark; i < memory_.size(); ++i) use.add(*memory_[i]);
    memory_.resize(mark);
}

void DeviceQueue::keep_last_of(std::size_t mark, const std::byte* kept) {
    const auto found = std::find_if(memory_.begin(), memory_.end(), [&](const auto& m) { return m->data() == kept; });
    const auto piece = *found;
    memory_.erase(found);
    release_from(mark);
    memory_.push_back(piece);
}

std::byte* DeviceQueue::pinned(std::size_t size_bytes) {
    const std::size_t size = std::max<std::size_t>(size_bytes, 16);
    if (staging_) {
        if (HostMemory memory = staging_(size, stream_); memory.owner) {
            foreign_.push_back(std::move(memory.owner));
            return static_cast<std::byte*>(memory.data);
        }
    }
    pinned_.push_back(cuda::Memory::allocate_pinned(cuda::Context::primary(context_->device().index), size));
    return static_cast<std::byte*>(pinned_.back()->data());
}

void DeviceQueue::send_bytes(void* to, const void* from, std::size_t size_bytes) const {
    if (size_bytes == 0) return;
    cuda::check(cuda::api().copy_async(to, from, size_bytes, handle()), "copying chunk tables to the GPU");
}

void DeviceQueue::fetch_bytes(void* to, const void* from, std::size_t size_bytes) const {
    if (size_bytes == 0) return;
    cuda::check(cuda::api().copy_async(to, from, size_bytes, handle()), "copying sizes from the GPU");
}

cuda::Event DeviceQueue::record() const {
    return cuda::Event::record(*context_, stream_);
}

void DeviceQueue::wait_for(const cuda::Event& event) const {
    // A sleeping thread wakes late, by the time that many batches take.
    const auto until = std::chrono::steady_clock::now() + kAwake;
    while (!event.done()) {
        if (std::chrono::steady_clock::now() > until) return event.wait();
        std::this_thread::yield();
    }
}

void DeviceQueue::gather(const GatherCopy* copies, std::size_t count) {
    if (count == 0) return;
    const auto function = kernels().find(context_, "tricodec_gather");
    void* arguments[] = {&copies};
    cuda::check(cuda::api().launch_kernel(function, static_cast<unsigned>(count), 1, 1, kThreads, 1, 1, 0, handle(),
                                          arguments, nullptr),
                "copying chunks");
}

std::size_t DeviceQueue::memory_budget(std::size_t wanted, std::size_t least) const {
    const std::size_t idle = context_->device_pool().use().idle_bytes();
    if (wanted <= idle) return wanted;  // the driver is slow to report the free memory
    std::size_t free = 0;
    std::size_t total = 0;
    cuda::check(cuda::api().memory_get_info(&free, &total), "asking for free memory");
    return std::max({least, idle, free / kBudgetPart});
}

}  // namespace tricodec::compress::nvcomp
