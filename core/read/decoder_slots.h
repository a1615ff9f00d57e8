// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "tricodec/base/device.h"

namespace tricodec {

/// What all reads of the process on one GPU share: slots for decoders at work, and memory for frames decoded ahead.
///
/// Note [Decoder slots]: making a decoder is slow, and the driver spreads the pictures of all decoders over the
/// engines. Two decoders an engine keep it at work while one of them begins or ends a GOP range; more only take memory
/// and the host's time. So at most two for each engine are at work, whatever the number of
/// reads. Work that a consumer waits for gets a slot before work that is ahead of its consumer. A thread that holds a
/// slot never waits for another slot. When the consumer is slow, the GOP range releases its slot until it continues.
///
/// Thread safety: safe.
class DecoderSlots {
public:
    /// Asked when a slot is free: true if a consumer waits for the work.
    using Needed = std::function<bool()>;

    /// `most_bytes` is for all frames that wait to be read, unless limits().max_device_buffered_bytes is less.
    DecoderSlots(int num_slots, std::int64_t most_bytes) : num_slots_(num_slots), most_bytes_(most_bytes) {}
    /// Waits until all work is done.
    ~DecoderSlots();

    /// Those of a GPU that has so many engines. They stay to the end of the process.
    [[nodiscard]] static DecoderSlots& of(Device device, int num_engines);

    /// Runs `work` on a thread of the process-wide pool once it has a slot, which it holds to its end. It must not
    /// throw.
    void run(std::function<void()> work, Needed needed);
    /// Work in its slot is about to wait for its consumer ...
    void pause();
    /// ... and continues. Its decoder exists, so it does not wait for a slot again.
    void resume();

    /// True if that much more may be decoded ahead; it counts until it is released.
    [[nodiscard]] bool reserve(std::int64_t bytes) noexcept;
    void release(std::int64_t bytes) noexcept { reserved_bytes_ -= bytes; }

    [[nodiscard]] int num_slots() const noexcept { return num_slots_; }
    /// Slots that no work has or waits for, but 1 at least: as many as a read that begins now may get.
    [[nodiscard]] int num_free() const;
    /// Slots taken at once so far: about as many decoders have been made.
    [[nodiscard]] int most_at_once() const noexcept { return most_at_once_; }

private:
    struct Waiting {
        std::function<void()> work;
        Needed needed;
    };
    /// Gives free slots to the first in line that is needed, else to the first. The mutex is held.
    void advance();
    void take();

    const int num_slots_;
    const std::int64_t most_bytes_;
    std::atomic<std::int64_t> reserved_bytes_{0};
    std::atomic<int> most_at_once_{0};
    mutable std::mutex mutex_;
    std::condition_variable idle_;
    std::deque<Waiting> line_;
    int num_taken_ = 0;
};

}  // namespace tricodec
