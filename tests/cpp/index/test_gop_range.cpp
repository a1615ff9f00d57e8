// SPDX-License-Identifier: Apache-2.0
// Which packets give which frames, on indexes that are made up.
#include <gtest/gtest.h>

#include <vector>

#include "index/gop_range.h"
#include "index/made_up_index.h"

namespace tricodec {
namespace {

using testing::index_of;
using testing::kGroup;

TEST(GopRanges, count_the_pictures_that_are_decoded) {
    const auto index = index_of(2);

    // Nothing refers to packets 2, 5 and 8; 8 is asked for.
    const auto ranges = plan_ranges(index, std::vector<std::int64_t>{1, 8, 13});

    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].num_packets(), 9);
    EXPECT_EQ(ranges[0].num_decoded, 7);
    EXPECT_EQ(ranges[1].num_decoded, 3);  // 10, 11 and 13
}

TEST(GopRanges, decode_nothing_between_the_last_wanted_picture_and_the_next_key_frame) {
    const auto index = index_of(3);

    const auto all = join_all(index, plan_ranges(index, std::vector<std::int64_t>{1, 13, 21}));
    const auto needed = needed_packets(index, all, all.entry);

    for (const std::int64_t k : {0, 1, 10, 11, 12, 13, 20, 21}) EXPECT_TRUE(needed.contains(k)) << k;
    for (const std::int64_t k : {2, 9, 14, 19}) EXPECT_FALSE(needed.contains(k)) << k;
    EXPECT_EQ(all.num_decoded, 7);  // nothing refers to packet 12
    // A decoder that is in the middle of a gap already.
    EXPECT_FALSE(needed_packets(index, all, 16).contains(16));
    EXPECT_TRUE(needed_packets(index, all, 16).contains(20));
}

TEST(GopRanges, decode_all_before_a_key_frame_that_may_refer_to_it) {
    auto contents = StreamIndex::Contents{};
    contents.packets = index_of(2).packets();
    contents.packets[kGroup].open_entry = true;
    const auto open = StreamIndex::from_contents(std::move(contents));

    const auto all = join_all(open, plan_ranges(open, std::vector<std::int64_t>{1, 13}));

    for (std::int64_t k = 0; k <= 13; ++k) EXPECT_TRUE(needed_packets(open, all, 0).contains(k)) << k;
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
