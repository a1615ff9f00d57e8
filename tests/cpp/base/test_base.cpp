// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec {
namespace {

class CountingAllocator final : public Allocator {
public:
    void* allocate(std::size_t size_bytes) override {
        ++num_live;
        return std::aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    }
    void deallocate(void* data, std::size_t) noexcept override {
        --num_live;
        std::free(data);
    }
    int num_live = 0;
};

TEST(Buffer, returns_to_the_allocator_that_made_it) {
    const auto counting = std::make_shared<CountingAllocator>();
    set_host_allocator(counting);
    auto buffer = Buffer::allocate(100);
    set_host_allocator(nullptr);
    EXPECT_EQ(counting->num_live, 1);
    const auto other = Buffer::allocate(100);
    EXPECT_EQ(counting->num_live, 1);
    buffer.reset();
    EXPECT_EQ(counting->num_live, 0);
}

TEST(RunParallel, rethrows_the_first_exception_after_all_tasks_ended) {
    std::atomic<int> num_run{0};
    std::vector<std::function<void()>> tasks;
    for (int i = 0; i < 20; ++i) {
        tasks.emplace_back([&, i] {
            ++num_run;
            if (i == 3) fail(ErrorCode::io, "task 3");
        });
    }
    EXPECT_THROW(run_parallel(tasks, 3), Error);
    EXPECT_EQ(num_run.load(), 20);
}

TEST(RunParallel, may_be_nested_without_waiting_for_itself) {
    std::atomic<int> num_run{0};
    std::vector<std::function<void()>> outer(8, [&] {
        std::vector<std::function<void()>> inner(8, [&] { ++num_run; });
        run_parallel(inner, 8);
    });
    run_parallel(outer, 8);
    EXPECT_EQ(num_run.load(), 64);
}

}  // namespace
}  // namespace tricodec
