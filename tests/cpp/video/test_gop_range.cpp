// SPDX-License-Identifier: Apache-2.0
// How reads are spread over decoders, on indexes that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "video/read/gop_range.h"

namespace tricodec {
namespace {

constexpr std::int64_t kGroup = 10;  // packets of a group of pictures; nothing refers to every third

StreamIndex index_of(std::int64_t num_groups) {
    StreamIndex::Contents contents;
    for (std::int64_t k = 0; k < num_groups * kGroup; ++k) {
        IndexedPacket packet;
        packet.pts = packet.dts = k;
        packet.pos = 100 * k;
        packet.size_bytes = 100;
        packet.entry = k % kGroup == 0;
        packet.non_reference = k % kGroup % 3 == 2;
        contents.packets.push_back(packet);
    }
    return StreamIndex::from_contents(std::move(contents));
}

std::vector<std::int64_t> all_of(const StreamIndex& index) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(index.num_frames()));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

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

TEST(GopRanges, count_the_pictures_that_are_decoded) {
    const auto index = index_of(2);

    // Nothing refers to packets 2, 5 and 8; 8 is asked for.
    const auto ranges = plan_ranges(index, std::vector<std::int64_t>{1, 8, 13});

    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].num_packets(), 9);
    EXPECT_EQ(ranges[0].num_decoded, 7);
    EXPECT_EQ(ranges[1].num_decoded, 3);  // 10, 11 and 13
}

TEST(GopRanges, that_touch_are_joined_until_they_are_worth_a_task) {
    std::vector<GopRange> ranges;
    for (std::int64_t i = 0; i < 40; ++i) ranges.push_back({i, i, {i}});
    ranges.push_back({100, 130, {100}});
    ranges.push_back({131, 140, {131}});
    ranges.push_back({200, 201, {200}});
    const auto joined = join_short_ranges(ranges, 16);
    ASSERT_EQ(joined.size(), 6);
    EXPECT_EQ(joined[0].num_packets(), 16);
    EXPECT_EQ(joined[0].wanted.size(), 16);
    EXPECT_EQ(joined[2].num_packets(), 8);
    EXPECT_EQ(joined[3].num_packets(), 31);
    EXPECT_EQ(joined[4].entry, 131);
    EXPECT_EQ(joined[5].entry, 200);
}

}  // namespace
}  // namespace tricodec
