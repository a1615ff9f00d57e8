// SPDX-License-Identifier: Apache-2.0
/// What tests of turns on a GPU's engines share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "video/engine_queue.h"

namespace tricodec::testing {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 34;  // limits().max_device_buffered_bytes

/// Work gives its turn back after it is done: returns once all of it has.
inline void settle(EngineQueue& queue) {
    const EngineQueue::Read read(queue, true);
    std::vector<std::unique_ptr<EngineQueue::Turn>> all;
    for (int i = 0; i < queue.num_turns(); ++i) all.push_back(std::make_unique<EngineQueue::Turn>(queue, read.share()));
}

}  // namespace tricodec::testing
