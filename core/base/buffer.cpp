// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/cuda/memory.h"
#include "base/fork.h"
#include "base/host_memory.h"
#include "base/memory_counter.h"
#include "base/never_destroyed.h"
#include "base/sized_pool.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::size_t kAlignment = 64;            // one cache line, and what AVX-512 loads want
constexpr std::size_t kPooledFrom = 256 * 1024;   // smaller blocks come from malloc's own free lists anyway
constexpr std::size_t kKeptBytes = 256ull << 20;  // what idle blocks may hold back from the system

/// A video asks for the same size over and over, and a fresh block costs page faults when it is first written.
class PoolingAllocator final : public Allocator {
public:
    void* allocate(std::size_t size_bytes) override {
        void* const data = size_bytes >= kPooledFrom ? pool_.take(size_bytes).data : take_small(size_bytes);
        TRICODEC_EXPECT(data != nullptr, out_of_memory,
                        "could not allocate " + std::to_string(size_bytes) + " bytes of host memory");
        return data;
    }

    void deallocate(void* data, std::size_t size_bytes) noexcept override {
        if (size_bytes >= kPooledFrom) return pool_.give_back({.data = data});
        std::free(data);
        small_.add(MemoryAction::release, size_bytes);
        small_.add(MemoryAction::free, size_bytes);
    }

    bool give_up_tail(void* data, std::size_t size_bytes, std::size_t used_bytes) noexcept override {
        return size_bytes >= kPooledFrom && HostMemory::give_up_tail(data, size_bytes, used_bytes);
    }

private:
    void* take_small(std::size_t size_bytes) {
        void* const data = std::aligned_alloc(kAlignment, align_up(std::max<std::size_t>(size_bytes, 1), kAlignment));
        if (data != nullptr) small_.add(MemoryAction::allocate, size_bytes);
        return data;
    }

    SizedPool pool_{std::make_unique<HostMemory>(), MemoryKind::host, Device{}, kKeptBytes};
    MemoryCounter small_{MemoryKind::host, Device{}};
};

struct AllocatorSlot {
    ForkSafeMutex mutex;
    std::shared_ptr<Allocator> standard = std::make_shared<PoolingAllocator>();
    std::shared_ptr<Allocator> current = standard;
};

AllocatorSlot& allocator_slot() {
    static NeverDestroyed<AllocatorSlot> slot;
    return *slot;
}

}  // namespace

std::shared_ptr<Allocator> host_allocator() {
    auto& slot = allocator_slot();
    std::lock_guard lock(slot.mutex);
    return slot.current;
}

void set_host_allocator(std::shared_ptr<Allocator> allocator) {
    auto& slot = allocator_slot();
    std::lock_guard lock(slot.mutex);
    slot.current = allocator ? std::move(allocator) : slot.standard;
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t size_bytes) {
    auto buffer = std::shared_ptr<Buffer>(new Buffer);
    buffer->allocator_ = host_allocator();
    buffer->data_ = static_cast<std::byte*>(buffer->allocator_->allocate(size_bytes));
    buffer->size_bytes_ = size_bytes;
    return buffer;
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, std::size_t size_bytes, std::shared_ptr<const void> owner) {
    auto buffer = std::shared_ptr<Buffer>(new Buffer);
    buffer->data_ = static_cast<std::byte*>(data);
    buffer->size_bytes_ = size_bytes;
    buffer->owner_ = std::move(owner);
    return buffer;
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t size_bytes, Device device, StreamView stream) {
    if (device.kind == Device::Kind::cpu) return allocate(size_bytes);
    auto buffer = std::shared_ptr<Buffer>(new Buffer);
    buffer->memory_ = cuda::Memory::allocate(cuda::Context::of(stream, device.index), size_bytes, stream);
    buffer->data_ = static_cast<std::byte*>(buffer->memory_->data());
    buffer->size_bytes_ = size_bytes;
    buffer->device_ = device;
    return buffer;
}

std::shared_ptr<Buffer> Buffer::allocate_pinned(std::size_t size_bytes, Device device) {
    TRICODEC_EXPECT(device.kind == Device::Kind::cuda, invalid_argument,
                    "page-locked memory needs the device of a GPU, not '" + device.to_string() + "'");
    auto buffer = std::shared_ptr<Buffer>(new Buffer);
    buffer->memory_ = cuda::Memory::allocate_pinned(cuda::Context::primary(device.index), size_bytes);
    buffer->data_ = static_cast<std::byte*>(buffer->memory_->data());
    buffer->size_bytes_ = size_bytes;
    return buffer;
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, std::size_t size_bytes, std::shared_ptr<const void> owner,
                                       Device device, StreamView stream) {
    auto buffer = borrow(data, size_bytes, owner);
    if (device.kind == Device::Kind::cpu) return buffer;
    buffer->device_ = device;
    buffer->memory_ = cuda::Memory::borrow(cuda::Context::of(stream, device.index), data, size_bytes, std::move(owner));
    buffer->memory_->written_on(stream);
    return buffer;
}

std::shared_ptr<cuda::Context> Buffer::context() const {
    return memory_ ? memory_->context() : nullptr;
}

bool Buffer::give_up_tail(std::size_t used_bytes) noexcept {
    return allocator_ && allocator_->give_up_tail(data_, size_bytes_, used_bytes);
}

void Buffer::written_on(StreamView stream) {
    if (memory_) memory_->written_on(stream);
}

void Buffer::used_on(StreamView stream) const {
    if (memory_) memory_->used_on(stream);
}

void Buffer::used_on(std::span<const std::shared_ptr<Buffer>> buffers, StreamView stream) {
    if (buffers.empty()) return;
    cuda::MemoryUse use(stream);
    for (const auto& buffer : buffers) {
        if (buffer->memory_) use.add(*buffer->memory_);
    }
}

void Buffer::wait_on(StreamView stream) const {
    if (memory_) memory_->wait_on(stream);
}

void Buffer::lend_to(StreamView stream) {
    if (memory_) memory_->lend_to(stream);
}

void Buffer::wait() const {
    if (memory_) memory_->wait();
}

Buffer::~Buffer() {
    if (allocator_ && data_ != nullptr) allocator_->deallocate(data_, size_bytes_);
}

}  // namespace tricodec
