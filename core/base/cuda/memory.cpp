// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/memory.h"

#include <algorithm>

#include "base/cuda/memory_report.h"
#include "base/executor.h"
#include "tricodec/base/error.h"

namespace tricodec::cuda {
namespace {

constexpr std::uintptr_t kPerThreadStream = 2;

SharedEvent share(Event event) {
    return std::make_shared<const Event>(std::move(event));
}

}  // namespace

std::shared_ptr<Memory> Memory::allocate(std::shared_ptr<Context> context, std::size_t size_bytes, StreamView stream) {
    expect_not_captured(stream);
    return allocate_uncaptured(std::move(context), size_bytes, stream);
}

std::shared_ptr<Memory> Memory::allocate_uncaptured(std::shared_ptr<Context> context, std::size_t size_bytes,
                                                    StreamView stream) {
    SizedPool& pool = context->device_pool();
    auto block = pool.take(size_bytes, stream);
    if (block.data == nullptr) fail_out_of_memory(*context, size_bytes, "a frame or a tensor");
    bool in_order = block.fresh;  // to be used after what `stream` has queued by now
    auto memory = std::shared_ptr<Memory>(new Memory(std::move(context), &pool, std::move(block), size_bytes));
    for (const auto& event : memory->uses_) {
        if (event->done()) continue;
        event->wait_on(stream);
        in_order = true;
    }
    memory->uses_.clear();
    // The next owner of the block waits for what `stream` waits for, even if nothing is ever written.
    if (in_order) memory->record_written(stream);
    return memory;
}

std::shared_ptr<Memory> Memory::allocate_pinned(std::shared_ptr<Context> context, std::size_t size_bytes) {
    SizedPool& pool = context->pinned_pool();
    auto block = pool.take(size_bytes);
    if (block.data == nullptr) fail_out_of_pinned_memory(*context, size_bytes);
    block.pending.clear();
    return std::shared_ptr<Memory>(new Memory(std::move(context), &pool, std::move(block), size_bytes));
}

std::shared_ptr<Memory> Memory::borrow(std::shared_ptr<Context> context, void* data, std::size_t size_bytes,
                                       std::shared_ptr<const void> owner) {
    return std::shared_ptr<Memory>(
        new Memory(std::move(context), nullptr, Block{.data = data}, size_bytes, std::move(owner)));
}

Memory::~Memory() {
    if (pool_ == nullptr) return;
    try {
        record_lent();
        if (written_) uses_.push_back(std::move(written_));
        auto past_bound = pool_->take_back({.data = data_, .pending = std::move(uses_)});
        if (pool_->use().kind() != MemoryKind::pinned || past_bound.empty()) {
            pool_->free(past_bound);
            return;
        }
        // Unlocking many pages takes long. The thread pool does it, so an event loop that drops an array continues.
        submit([context = context_, pool = pool_,
                slabs = std::make_shared<const SizedPool::Slabs>(std::move(past_bound))] { pool->free(*slabs); });
    } catch (...) {
        // No memory to hold the list of users: the block is lost rather than given away while it is in use.
    }
}

void Memory::written_on(StreamView stream) {
    if (!is_capturing(stream)) record_written(stream);
}

void Memory::record_written(StreamView stream) {
    auto event = share(Event::record(*context_, stream));
    std::lock_guard lock(mutex_);
    written_ = std::move(event);
}

void Memory::used_on(StreamView stream) {
    if (is_capturing(stream)) return;
    used_until(share(Event::record(*context_, stream)));
}

void Memory::used_until(SharedEvent event) {
    std::lock_guard lock(mutex_);
    const auto same = std::find_if(uses_.begin(), uses_.end(),
                                   [&](const SharedEvent& use) { return use->stream() == event->stream(); });
    // A handle seen before may be another stream by now. Its work says nothing about the first one's.
    if (same != uses_.end() && (*same)->done()) {
        *same = std::move(event);
    } else {
        uses_.push_back(std::move(event));
    }
}

void Memory::wait_on(StreamView stream) const {
    std::lock_guard lock(mutex_);
    // What is done need not be waited for, nor asked about again: arrays are read more often than they are written.
    if (written_ && written_->done()) written_.reset();
    if (written_) written_->wait_on(stream);
}

void Memory::lend_to(StreamView stream) {
    std::lock_guard lock(mutex_);
    if (written_) written_->wait_on(stream);
    // The thread that drops the memory may have another per-thread default stream; the legacy one waits for them all.
    (stream.handle <= kPerThreadStream ? lent_to_default_ : lent_to_others_) = true;
}

/// Others' streams are not asked by their handles, which may name nothing any more: the driver does not survive that.
void Memory::record_lent() {
    if (lent_to_others_) {
        uses_.push_back(share(Event::record_all(*context_)));
    } else if (lent_to_default_) {
        uses_.push_back(share(Event::record(*context_, {})));
    }
}

void Memory::wait() const {
    // Under the lock: the event must not go back to the pool meanwhile. Writers of one memory do not overlap its
    // readers.
    std::lock_guard lock(mutex_);
    if (written_) written_->wait();
}

void expect_not_captured(StreamView stream) {
    TRICODEC_EXPECT(!is_capturing(stream), unsupported,
                    "the stream is captured in a CUDA graph, which would write this memory after it has other users; "
                    "pass out=, memory that is kept as long as the graph");
}

void MemoryUse::add(Memory& memory) {
    if (is_captured_) return;
    Context& context = *memory.context();
    if (&context != recorded_in_) {
        event_ = share(Event::record(context, stream_));
        recorded_in_ = &context;
    }
    memory.used_until(event_);
}

}  // namespace tricodec::cuda
