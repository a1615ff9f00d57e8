// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tricodec/base/interrupt.h"

namespace tricodec {

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
