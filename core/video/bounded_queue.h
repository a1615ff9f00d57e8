// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

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
    /// Waits for an item; nothing once the queue is ended and empty, or abandoned.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        there_.wait(lock, [&] { return !items_.empty() || ended_ || abandoned_; });
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
    /// Both sides stop: what is in the queue is of no use any more.
    void abandon() {
        std::lock_guard lock(mutex_);
        abandoned_ = true;
        there_.notify_all();
        room_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable there_;
    std::condition_variable room_;
    std::deque<T> items_;
    std::size_t most_;
    bool ended_ = false;
    bool abandoned_ = false;
};

}  // namespace tricodec
