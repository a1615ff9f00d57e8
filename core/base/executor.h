// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tricodec {

/// Runs `task` on a thread of the process-wide pool, soon. It must not throw.
void submit(std::function<void()> task);

/// While it exists, the task of the pool that made it waits for its owner, perhaps for long: other tasks get a thread
/// in its place.
struct WaitingTask {
    WaitingTask() noexcept { count(1); }
    ~WaitingTask() { count(-1); }
    WaitingTask(const WaitingTask&) = delete;
    WaitingTask& operator=(const WaitingTask&) = delete;
    static void count(int change) noexcept;
};

}  // namespace tricodec
