// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tricodec/base/device.h"

namespace tricodec {

/// The allocators of the library. They have all memory that grows with pictures, arrays and streams. Memory that codec
/// libraries take from the system is not counted, nor is memory of the caller.
enum class MemoryKind {
    host,      ///< ordinary memory of pictures and arrays
    pinned,    ///< page-locked host memory, by the GPU that it is locked for
    device,    ///< memory of a GPU
    decoders,  ///< what NVDEC's decoders take of a GPU for themselves, as estimated from their surfaces
};

/// What happened to a piece of memory. For decoders, reuse and release mean that one works on another stream.
enum class MemoryAction {
    allocate,  ///< asked of the system or the driver, and given out
    reuse,     ///< kept from before, and given out
    release,   ///< came back, and is kept
    free,      ///< kept until now, goes back to the system or the driver
};
[[nodiscard]] std::string_view to_string(MemoryAction action) noexcept;

/// An allocator's memory, that of all CUDA contexts of a GPU together.
struct MemoryUse {
    MemoryKind kind{};
    Device device;                  ///< cpu for `host`
    std::int64_t in_use_bytes = 0;  ///< given out
    std::int64_t idle_bytes = 0;    ///< kept for the next caller

    [[nodiscard]] std::string name() const;  ///< "host", "pinned cuda:0", "device cuda:0", "decoders cuda:0"
};

/// The allocators there are so far, by kind and device. Thread safety: safe.
[[nodiscard]] std::vector<MemoryUse> memory_use();

/// MemoryUse, and the counts since the MemoryTracker began.
struct TrackedMemory : MemoryUse {
    std::int64_t peak_bytes = 0;  ///< the most that was in use at a time
    std::int64_t num_allocations = 0;
    std::int64_t num_reuses = 0;
};

/// A piece of memory that was given out or came back.
struct MemoryEvent {
    std::int64_t time_ns = 0;  ///< since the MemoryTracker began
    MemoryKind kind{};
    Device device;
    MemoryAction action{};
    std::int64_t size_bytes = 0;    ///< as the allocator rounds it
    std::int64_t in_use_bytes = 0;  ///< of this allocator, after it

    [[nodiscard]] std::string name() const;  ///< MemoryUse's
};

struct TrackerState;

/// Watches all memory of the process as long as it lives, or until stop(). Several may live at once. While none does,
/// an allocator checks one variable. Thread safety: safe.
class MemoryTracker {
public:
    /// Keeps the latest `max_events` events.
    explicit MemoryTracker(std::size_t max_events = 0);
    MemoryTracker(const MemoryTracker&) = delete;
    MemoryTracker& operator=(const MemoryTracker&) = delete;
    ~MemoryTracker();

    /// Ends the measurement; the other functions then keep their values.
    void stop();
    /// The allocators there are so far, by kind and device.
    [[nodiscard]] std::vector<TrackedMemory> allocators() const;
    [[nodiscard]] std::vector<MemoryEvent> events() const;
    /// Events that were not kept.
    [[nodiscard]] std::int64_t num_dropped_events() const;

private:
    std::unique_ptr<TrackerState> state_;
};

}  // namespace tricodec
