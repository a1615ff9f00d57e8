// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "tricodec/base/memory_tracker.h"

namespace tricodec {

/// How much an allocator has given out and keeps; memory_use() and MemoryTrackers know it by this as long as it lives.
/// Thread safety: safe.
class MemoryCounter {
public:
    MemoryCounter(MemoryKind kind, Device device);
    ~MemoryCounter();

    void add(MemoryAction action, std::size_t size_bytes) noexcept;

    [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }
    [[nodiscard]] Device device() const noexcept { return device_; }
    [[nodiscard]] std::size_t in_use_bytes() const noexcept { return in_use_bytes_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t idle_bytes() const noexcept { return idle_bytes_.load(std::memory_order_relaxed); }

private:
    void count(MemoryAction action, std::size_t size_bytes) noexcept;

    MemoryKind kind_;
    Device device_;
    std::atomic<std::size_t> in_use_bytes_{0};
    std::atomic<std::size_t> idle_bytes_{0};
};

}  // namespace tricodec
