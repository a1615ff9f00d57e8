// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "tricodec/interrupt.h"

namespace tricodec {

/// What one stage of a pipeline hands to the next, so many at most. Thread safety: safe.
template <class T>
class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t most) : most_(most) {}

    /// Waits for room. False, and the item is dropped, if the queue was abandoned.
    bool push(T item) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return items_.size() < most_ || abandoned_; });
        if (abandoned_) return false;
        items_.push_back(std::move(item));
        there_.notify_one();
        return true;
    }
    /// Waits for an item; nothing once the queue is ended and empty, or abandoned. Throws what check_interrupt()
    /// throws.
    std::optional<T> pop() {
        constexpr auto kBetweenChecks = std::chrono::milliseconds(100);
        std::unique_lock lock(mutex_);
        while (!there_.wait_for(lock, kBetweenChecks, [&] { return !items_.empty() || ended_ || abandoned_; })) {
            lock.unlock();
            check_interrupt();
            lock.lock();
        }
        if (items_.empty() || abandoned_) return std::nullopt;
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        room_.notify_one();
        return item;
    }
    /// No more items will come.
    void end() {
        std::lock_guard lock(mutex_);
        ended_ = true;
        there_.notify_all();
    }
    [[nodiscard]] bool abandoned() const {
        std::lock_guard lock(mutex_);
        return abandoned_;
    }
    /// Both sides stop: what is in the queue is of no use any more.
    void abandon() {
        std::lock_guard lock(mutex_);
        abandoned_ = true;
        there_.notify_all();
        room_.notify_all();
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable there_;
    std::condition_variable room_;
    std::deque<T> items_;
    std::size_t most_;
    bool ended_ = false;
    bool abandoned_ = false;
};

}  // namespace tricodec
