// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "tricodec/base/interrupt.h"

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

/// Waits for `done`, or throws what check_interrupt() throws, with the lock held. The lock is free while that is
/// called.
template <class Done>
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Done done) {
    constexpr auto kBetweenChecks = std::chrono::milliseconds(50);
    while (!changed.wait_for(lock, kBetweenChecks, done)) {
        lock.unlock();
        try {
            check_interrupt();
        } catch (...) {
            lock.lock();
            throw;
        }
        lock.lock();
    }
}

}  // namespace tricodec
