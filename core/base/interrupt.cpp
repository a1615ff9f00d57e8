// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/interrupt.h"

#include <atomic>
#include <chrono>

namespace tricodec {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenChecks = std::chrono::milliseconds(100);

std::atomic<void (*)()> g_check{nullptr};
thread_local bool t_interrupted = false;

}  // namespace

void set_interrupt_check(void (*check)()) noexcept {
    g_check = check;
}

void check_interrupt(bool at_once) {
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

bool is_interrupted() noexcept {
    return t_interrupted;
}

}  // namespace tricodec
