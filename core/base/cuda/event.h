// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/cuda/context.h"
#include "base/fork.h"

namespace tricodec::cuda {

/// Whether work on `stream` is captured in a CUDA graph now. Such work runs when the graph does, so events behind it
/// say nothing, and the driver refuses to be asked about them.
[[nodiscard]] bool is_capturing(StreamView stream);

/// A point in a stream's work. Empty until recorded; movable; its handle goes back to the context's pool.
/// The context must outlive it.
class Event {
public:
    Event() = default;
    /// Marks what has been queued on `stream` so far. Does not wait.
    [[nodiscard]] static Event record(Context& context, StreamView stream);
    /// Marks what has been queued on all streams of the context so far. With a driver that cannot (before CUDA 12.5) it
    /// is what the legacy default stream waits for: streams that are not non-blocking.
    [[nodiscard]] static Event record_all(Context& context);

    Event(Event&& other) noexcept { swap(other); }
    Event& operator=(Event&& other) noexcept {
        Event(std::move(other)).swap(*this);
        return *this;
    }
    ~Event();

    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
    [[nodiscard]] StreamView stream() const noexcept { return stream_; }
    /// True once the work before it is done, or when nothing was recorded. Throws Error(device) if that work failed.
    [[nodiscard]] bool done() const;
    void wait() const;
    /// What is queued on `stream` from now on waits; the host does not.
    void wait_on(StreamView stream) const;

private:
    void swap(Event& other) noexcept {
        std::swap(context_, other.context_);
        std::swap(handle_, other.handle_);
        std::swap(stream_, other.stream_);
        std::swap(pooled_, other.pooled_);
        done_.store(other.done_.exchange(done_.load()));
    }
    Context* context_ = nullptr;
    EventHandle handle_ = nullptr;
    StreamView stream_{};
    bool pooled_ = true;                     // false for one of a foreign context
    mutable std::atomic<bool> done_{false};  // once the driver said so: a thousand buffers may ask the same event
};

/// Pieces of memory that are used by the same work share the event behind it.
using SharedEvent = std::shared_ptr<const Event>;

/// Idle events of one context. The host sleeps while it waits for one, as decoding threads share few cores.
/// Thread safety: safe.
class EventPool {
public:
    explicit EventPool(Context& context) : context_(context) {}
    ~EventPool();

    [[nodiscard]] EventHandle take();
    void give_back(EventHandle event) noexcept;

private:
    Context& context_;
    ForkSafeMutex mutex_;
    std::vector<EventHandle> idle_;
};

}  // namespace tricodec::cuda
