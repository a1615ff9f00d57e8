// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/device_queue.h"

#include <algorithm>
#include <cstring>

#include "base/cuda/driver.h"
#include "base/cuda/kernel_set.h"

#ifdef TRICODEC_HAVE_KERNELS
extern "C" const unsigned char tricodec_kernels_gather_kernel[] __attribute__((visibility("hidden")));
#endif

namespace tricodec::compress::nvcomp {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kBudgetPart = 4;  // of the free memory: others work on the GPU too

// Leaked on purpose: a context may be gone before static objects are.
cuda::KernelSet& kernels() {
#ifdef TRICODEC_HAVE_KERNELS
    const void* bytes = tricodec_kernels_gather_kernel;
#else
    const void* bytes = nullptr;
#endif
    static auto* all = new cuda::KernelSet(bytes, "a GPU cannot compress");
    return *all;
}

}  // namespace

std::string missing_gather_reason() {
    return kernels().missing_reason();
}

DeviceQueue::DeviceQueue(const std::shared_ptr<cuda::Context>& context, StreamView stream)
    : context_(context), scope_(*context), stream_(stream) {}

DeviceQueue::~DeviceQueue() {
    try {
        release_from(0);
        for (const auto& buffer : pinned_) buffer->used_on(stream_);
    } catch (...) {
        // The GPU failed: what was queued will never use the memory.
    }
}

std::byte* DeviceQueue::allocate(std::size_t size_bytes) {
    buffers_.push_back(Buffer::allocate(std::max<std::size_t>(size_bytes, 16), context_->device(), stream_));
    return buffers_.back()->data();
}

void DeviceQueue::release_from(std::size_t mark) {
    for (std::size_t i = mark; i < buffers_.size(); ++i) buffers_[i]->used_on(stream_);
    buffers_.resize(mark);
}

void DeviceQueue::keep_last_of(std::size_t mark, const std::byte* kept) {
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const auto& b) { return b->data() == kept; });
    const auto piece = *found;
    buffers_.erase(found);
    release_from(mark);
    buffers_.push_back(piece);
}

void* DeviceQueue::upload_bytes(const void* from, std::size_t size_bytes) {
    std::byte* to = allocate(size_bytes);
    if (size_bytes == 0) return to;
    pinned_.push_back(Buffer::allocate_pinned(size_bytes, context_->device()));
    std::memcpy(pinned_.back()->data(), from, size_bytes);
    cuda::check(cuda::api().copy_to_device_async(reinterpret_cast<cuda::DevicePointer>(to), pinned_.back()->data(),
                                                 size_bytes, handle()),
                "copying chunk tables to the GPU");
    return to;
}

const void* DeviceQueue::download_bytes(const void* from, std::size_t size_bytes) {
    pinned_.push_back(Buffer::allocate_pinned(std::max<std::size_t>(size_bytes, 16), context_->device()));
    if (size_bytes > 0) {
        cuda::check(cuda::api().copy_to_host_async(pinned_.back()->data(), reinterpret_cast<cuda::DevicePointer>(from),
                                                   size_bytes, handle()),
                    "copying sizes from the GPU");
    }
    return pinned_.back()->data();
}

void DeviceQueue::wait() const {
    cuda::check(cuda::api().stream_synchronize(handle()), "compression on the GPU");
}

void DeviceQueue::gather(const std::vector<GatherCopy>& copies) {
    if (copies.empty()) return;
    const auto function = kernels().find(context_, "tricodec_gather");
    const GatherCopy* list = upload(copies);
    void* arguments[] = {&list};
    cuda::check(cuda::api().launch_kernel(function, static_cast<unsigned>(copies.size()), 1, 1, kThreads, 1, 1, 0,
                                          handle(), arguments, nullptr),
                "copying chunks");
}

std::size_t DeviceQueue::memory_budget(std::size_t least) const {
    std::size_t free = 0;
    std::size_t total = 0;
    cuda::check(cuda::api().memory_get_info(&free, &total), "asking for free memory");
    return std::max(least, free / kBudgetPart);
}

}  // namespace tricodec::compress::nvcomp
