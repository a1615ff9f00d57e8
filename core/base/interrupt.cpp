// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/interrupt.h"

#include <atomic>
#include <chrono>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenChecks = std::chrono::milliseconds(100);

std::atomic<void (*)()> g_check{nullptr};
thread_local bool t_interrupted = false;
thread_local const std::atomic<bool>* t_ended = nullptr;

}  // namespace

void set_interrupt_check(void (*check)()) noexcept {
    g_check = check;
}

EndedBy::EndedBy(const std::atomic<bool>& ended) noexcept {
    t_ended = &ended;
}

EndedBy::~EndedBy() {
    t_ended = nullptr;
    t_interrupted = false;
}

void check_interrupt(bool at_once) {
    if (t_ended != nullptr && *t_ended) {
        t_interrupted = true;
        fail(ErrorCode::internal, "the owner of this thread has ended its work");
    }
    auto* const check = g_check.load(std::memory_order_relaxed);
    if (check == nullptr) return;
    thread_local Clock::time_point next{};
    const auto now = Clock::now();
    if (now < next && !at_once) return;
    next = now + kBetweenChecks;
    t_interrupted = true;
    check();
    t_interrupted = false;
}

void set_interrupted() noexcept {
    t_interrupted = true;
}

bool is_interrupted() noexcept {
    return t_interrupted;
}

std::unique_lock<std::timed_mutex> lock_interruptibly(std::timed_mutex& mutex) {
    std::unique_lock lock(mutex, std::try_to_lock);
    // ThreadSanitizer does not know the call of try_lock_for().
    while (!lock && !lock.try_lock_until(std::chrono::system_clock::now() + kBetweenChecks / 2)) check_interrupt();
    return lock;
}

}  // namespace tricodec
