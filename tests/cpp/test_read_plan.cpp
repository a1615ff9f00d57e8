// SPDX-License-Identifier: Apache-2.0
// How reads are spread over decoders, on indexes that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "video/read_plan.h"
#include "video/segment.h"
#include "video/stream_index.h"

namespace tricodec {
namespace {

constexpr std::int64_t kGroup = 10;  // packets of a group of pictures; every third is referred to by nobody

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
    for (const auto& group : plan.groups) {
        for (const auto& segment : group.segments) {
            numbers.insert(numbers.end(), segment.wanted.begin(), segment.wanted.end());
        }
    }
    std::ranges::sort(numbers);
    return numbers;
}

constexpr ReadResources kTwoCores{.max_tasks = 2, .num_cores = 2, .num_threads = 3};

TEST(ReadPlan, ends_with_a_decoder_of_several_threads_where_groups_leave_a_core_without_work) {
    const auto index = index_of(5);
    const auto numbers = all_of(index);

    const auto plan = plan_read(index, numbers, kTwoCores, -1);

    ASSERT_EQ(plan.groups.size(), 3u);
    EXPECT_EQ(plan.groups[0].num_threads, 1);
    EXPECT_EQ(plan.groups[1].num_threads, 1);
    EXPECT_EQ(plan.groups[2].num_threads, 3);
    EXPECT_EQ(plan.groups[2].num_packets(), kGroup);
    EXPECT_EQ(given_by(plan), numbers);
}

TEST(ReadPlan, gives_each_core_a_list_where_groups_come_out_even) {
    const auto index = index_of(4);
    const auto numbers = all_of(index);

    const auto plan = plan_read(index, numbers, kTwoCores, -1);

    ASSERT_EQ(plan.groups.size(), 2u);
    EXPECT_EQ(plan.groups[0].num_packets(), 2 * kGroup);
    EXPECT_EQ(plan.groups[1].num_packets(), 2 * kGroup);
    EXPECT_EQ(plan.groups[0].num_threads, 1);
    EXPECT_EQ(given_by(plan), numbers);
}

TEST(ReadPlan, walks_through_one_group_with_all_threads) {
    const auto index = index_of(1);

    const auto plan = plan_read(index, all_of(index), kTwoCores, -1);

    ASSERT_EQ(plan.groups.size(), 1u);
    EXPECT_EQ(plan.groups[0].num_threads, 3);
}

TEST(ReadPlan, has_one_list_on_one_core) {
    const auto index = index_of(5);

    const auto plan = plan_read(index, all_of(index), {.max_tasks = 1, .num_cores = 1, .num_threads = 1}, -1);

    ASSERT_EQ(plan.groups.size(), 1u);
    EXPECT_EQ(plan.groups[0].num_threads, 1);
}

TEST(Segments, count_the_pictures_that_are_decoded) {
    const auto index = index_of(2);

    // Of packets 0 to 8 those numbered 2, 5 and 8 are of use to nobody; 8 is asked for.
    const auto segments = plan_segments(index, std::vector<std::int64_t>{1, 8, 13});

    ASSERT_EQ(segments.size(), 2u);
    EXPECT_EQ(segments[0].num_packets(), 9);
    EXPECT_EQ(segments[0].num_decoded, 7);
    EXPECT_EQ(segments[1].num_decoded, 3);  // 10, 11 and 13
}

}  // namespace
}  // namespace tricodec
