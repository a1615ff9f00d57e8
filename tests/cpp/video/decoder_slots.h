// SPDX-License-Identifier: Apache-2.0
/// What tests of a GPU's decoder slots share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "video/read/decoder_slots.h"

namespace tricodec::testing {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 34;  // limits().max_device_buffered_bytes

/// Work gives its slot back after it is done: returns once all of it has.
inline void settle(DecoderSlots& slots) {
    std::atomic<int> running{0};
    const int num_slots = slots.num_slots();
    std::atomic<bool> all{false};
    for (int i = 0; i < num_slots; ++i) {
        slots.run(
            [&] {
                if (++running == num_slots) all = true;
                while (!all) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                --running;
            },
            [] { return true; });
    }
    while (!all || running > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tricodec::testing
