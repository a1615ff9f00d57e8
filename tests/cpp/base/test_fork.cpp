// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kSecondsToHang = 60;

/// The wait status of a child that runs `work`: 0 where that returns true, SIGALRM where it hangs.
int status_of_child(const std::function<bool()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(kSecondsToHang);
        bool held = false;
        try {
            held = work();
        } catch (...) {
        }
        _exit(held ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

TEST(Fork, a_child_is_told_from_its_parent) {
    const ForkMark mark;
    const auto generation = fork_generation();
    const int status = status_of_child([&] {
        const ForkMark made_here;
        const bool grandchild = status_of_child([&] { return made_here.in_child() && mark.in_child(); }) == 0;
        return grandchild && mark.in_child() && !made_here.in_child() && fork_generation() == generation + 1;
    });

    EXPECT_EQ(status, 0);
    EXPECT_FALSE(mark.in_child());
    EXPECT_EQ(fork_generation(), generation);
    EXPECT_NO_THROW(mark.expect_not_in_child("this thing"));
}

TEST(Fork, a_mutex_that_threads_lock_all_the_time_is_free_and_its_data_whole_in_every_child) {
    ForkSafeMutex mutex;
    ForkSafeMutex inner;
    std::vector<int> one;
    std::vector<int> other;
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int number = 0; number < 3; ++number) {
        threads.emplace_back([&] {
            while (!done) {
                const std::lock_guard lock(mutex);
                one.push_back(0);
                const std::lock_guard again(inner);
                other.push_back(0);
                if (one.size() > 1000) {
                    one.clear();
                    other.clear();
                }
            }
        });
    }
    for (int round = 0; round < 100; ++round) {
        const int status = status_of_child([&] {
            const std::lock_guard lock(mutex);
            const std::lock_guard again(inner);
            return one.size() == other.size();
        });
        EXPECT_EQ(status, 0) << "in round " << round;
    }
    done = true;
    for (auto& thread : threads) thread.join();
}

TEST(Fork, a_fork_does_not_wait_where_a_guard_allows_it_nor_for_the_forking_thread_itself) {
    std::atomic<bool> inside{false};
    std::atomic<bool> forked{false};
    std::thread holder([&] {
        const ForkGuard guard;
        {
            const ForkAllowed allowed;
            inside = true;
            while (!forked) std::this_thread::sleep_for(1ms);
        }
    });
    while (!inside) std::this_thread::yield();

    int status = -1;
    {
        ForkSafeMutex mutex;
        const std::lock_guard own(mutex);
        status = status_of_child([] {
            ForkSafeMutex another;
            const std::lock_guard lock(another);
            return true;
        });
    }
    forked = true;
    holder.join();
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tricodec
