// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

namespace tricodec {

/// Sets what check_interrupt() calls, in the whole process: a function that throws to end the call of the core that is
/// at work on the calling thread, as the Python front end does after Ctrl-C. Null, the default, is no function.
void set_interrupt_check(void (*check)()) noexcept;

/// Called by loops of the core that may take seconds, before a step that can be left out. Throws what the function of
/// set_interrupt_check() throws. That function runs ten times a second and thread at most, or `at_once`.
void check_interrupt(bool at_once = false);

/// While it exists, check_interrupt() of its thread throws Error(internal) once `ended` is true: for threads that work
/// for an owner that ends them.
class EndedBy {
public:
    explicit EndedBy(const std::atomic<bool>& ended) noexcept;
    ~EndedBy();
    EndedBy(const EndedBy&) = delete;
    EndedBy& operator=(const EndedBy&) = delete;
};

/// As if check_interrupt() had thrown on the calling thread: a callback of the front end threw to end the call.
void set_interrupted() noexcept;

/// True if the last check_interrupt() of the calling thread threw: threads that help it can stop.
[[nodiscard]] bool is_interrupted() noexcept;

/// Locks, or throws what check_interrupt() throws: another thread may hold the mutex as long as a source takes.
[[nodiscard]] std::unique_lock<std::timed_mutex> lock_interruptibly(std::timed_mutex& mutex);

}  // namespace tricodec
