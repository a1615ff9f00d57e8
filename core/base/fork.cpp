// SPDX-License-Identifier: Apache-2.0
#include "base/fork.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::chrono::microseconds kPause{20};  // between looks at the guards that a fork waits for

std::atomic<std::uint64_t> g_generation{0};
std::atomic<int> g_num_guarded{0};  // threads inside a ForkGuard
std::atomic<bool> g_forking{false};
std::mutex g_fork_mutex;  // one fork at a time; threads that come to a guard meanwhile wait for it too
thread_local int t_depth = 0;

void before_fork() {
    if (t_depth > 0) --g_num_guarded;  // a thread that forks in a guard waits for others, and none for it
    g_fork_mutex.lock();
    g_forking = true;
    while (g_num_guarded != 0) std::this_thread::sleep_for(kPause);
    ++t_depth;  // handlers of others may come to a guard on this thread
}

void after_fork() noexcept {
    if (--t_depth > 0) ++g_num_guarded;
    g_forking = false;
    g_fork_mutex.unlock();
}

void in_child() noexcept {
    ++g_generation;
    after_fork();
}

// Registered when the library is loaded: a fork before an object exists counts too.
[[maybe_unused]] const bool g_registered = pthread_atfork(before_fork, after_fork, in_child) == 0;

void come_in() noexcept {
    for (;;) {
        ++g_num_guarded;
        if (!g_forking) return;
        --g_num_guarded;
        const std::lock_guard wait(g_fork_mutex);
    }
}

}  // namespace

std::uint64_t fork_generation() noexcept {
    return g_generation.load(std::memory_order_relaxed);
}

void ForkMark::expect_not_in_child(const char* object) const {
    TRICODEC_EXPECT(!in_child(), unsupported,
                    std::string(object) +
                        " was made before this process was forked, and its work stayed in the parent process; "
                        "make it in this process");
}

void ForkGuard::enter() noexcept {
    if (t_depth++ == 0) come_in();
}

void ForkGuard::leave() noexcept {
    if (--t_depth == 0) --g_num_guarded;
}

ForkAllowed::ForkAllowed() noexcept : depth_(t_depth) {
    if (depth_ > 0) --g_num_guarded;
    t_depth = 0;
}

ForkAllowed::~ForkAllowed() {
    t_depth = depth_;
    if (depth_ > 0) come_in();
}

}  // namespace tricodec
