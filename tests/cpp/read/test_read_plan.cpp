// SPDX-License-Identifier: Apache-2.0
// How reads are spread over decoders, on indexes that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "index/made_up_index.h"
#include "read/read_plan.h"

namespace tricodec {
namespace {

using testing::all_of;
using testing::index_of;
using testing::kGroup;

std::vector<std::int64_t> given_by(const ReadPlan& plan) {
    std::vector<std::int64_t> numbers;
    for (const auto& task : plan.tasks) {
        for (const auto& range : task.ranges) numbers.insert(numbers.end(), range.wanted.begin(), range.wanted.end());
    }
    std::ranges::sort(numbers);
    return numbers;
}

constexpr ReadResources kTwoCores{.max_tasks = 2, .num_cores = 2, .num_threads = 3};

TEST(ReadPlan, ends_with_a_decoder_of_several_threads_where_groups_leave_a_core_without_work) {
    const auto index = index_of(5);
    const auto numbers = all_of(index);

    const auto plan = plan_fastest(index, numbers, kTwoCores, -1);

    ASSERT_EQ(plan.tasks.size(), 3u);
    EXPECT_EQ(plan.tasks[0].num_threads, 1);
    EXPECT_EQ(plan.tasks[1].num_threads, 1);
    EXPECT_EQ(plan.tasks[2].num_threads, 3);
    EXPECT_EQ(plan.tasks[2].num_packets(), kGroup);
    EXPECT_EQ(given_by(plan), numbers);
}

TEST(ReadPlan, gives_each_core_a_list_where_groups_come_out_even) {
    const auto index = index_of(4);
    const auto numbers = all_of(index);

    const auto plan = plan_fastest(index, numbers, kTwoCores, -1);

    ASSERT_EQ(plan.tasks.size(), 2u);
    EXPECT_EQ(plan.tasks[0].num_packets(), 2 * kGroup);
    EXPECT_EQ(plan.tasks[1].num_packets(), 2 * kGroup);
    EXPECT_EQ(plan.tasks[0].num_threads, 1);
    EXPECT_EQ(given_by(plan), numbers);
}

TEST(ReadPlan, walks_through_one_group_with_all_threads) {
    const auto index = index_of(1);

    const auto plan = plan_fastest(index, all_of(index), kTwoCores, -1);

    ASSERT_EQ(plan.tasks.size(), 1u);
    EXPECT_EQ(plan.tasks[0].num_threads, 3);
}

TEST(ReadPlan, has_one_list_on_one_core) {
    const auto index = index_of(5);

    const auto plan = plan_fastest(index, all_of(index), {.max_tasks = 1, .num_cores = 1, .num_threads = 1}, -1);

    ASSERT_EQ(plan.tasks.size(), 1u);
    EXPECT_EQ(plan.tasks[0].num_threads, 1);
}

TEST(ReadPlan, has_several_tasks_for_every_slot_of_a_gpu) {
    const auto index = index_of(100);
    const auto numbers = all_of(index);
    const auto length_for = [&](int num_slots) {
        return plan_for_slots(index, numbers, num_slots).front().num_packets();
    };

    EXPECT_EQ(length_for(14), 30);    // 1000 / (3 * 14) packets, in whole GOPs
    EXPECT_EQ(length_for(1), 50);     // no more than a decoder needs to be at work
    EXPECT_EQ(length_for(1000), 20);  // no less than is worth a start
}

}  // namespace
}  // namespace tricodec
