// SPDX-License-Identifier: Apache-2.0
/// Groups of pictures found while a stream's packets are being read, against those of its whole index.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "media.h"
#include "tricodec/demuxer.h"
#include "video/early_groups.h"

namespace tricodec {
namespace {

struct EarlyCase {
    const char* name;
    const char* file;
    const char* arguments;
    std::size_t num_groups;  // of the whole stream
    std::size_t num_late;    // of them known only at the end
};

class EarlyGroupsOf : public ::testing::TestWithParam<EarlyCase> {
protected:
    static constexpr int kFrames = 120;

    void SetUp() override { path_ = testing::clip(GetParam().file, GetParam().arguments, kFrames); }

    /// Gives all packets to `early`; the index of them.
    StreamIndex read(EarlyGroups& early) {
        const auto demuxer = Demuxer::open(MediaSource::from_path(path_));
        StreamIndexBuilder builder(demuxer->stream());
        while (auto packet = demuxer->read()) {
            builder.add(*packet);
            num_read_ = builder.num_packets();
            early.add(builder, std::move(*packet));
        }
        return builder.make();
    }

    static std::vector<Segment> groups_of(const StreamIndex& index, std::int64_t num_frames) {
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(num_frames));
        std::iota(numbers.begin(), numbers.end(), 0);
        return join_short_segments(plan_segments(index, numbers), 16);
    }

    std::filesystem::path path_;
    std::int64_t num_read_ = 0;
};

TEST_P(EarlyGroupsOf, are_those_of_the_whole_index_and_come_before_its_end_with_their_packets) {
    std::vector<EarlyGroup> given;
    std::vector<std::int64_t> given_at;
    EarlyGroups early({100, -1, 16}, [&](EarlyGroup group) {
        given.push_back(std::move(group));
        given_at.push_back(num_read_);
    });
    const auto index = read(early);

    const auto groups = groups_of(index, index.num_frames());
    EXPECT_EQ(groups.size(), GetParam().num_groups);
    EXPECT_TRUE(early.hold(index, groups));
    ASSERT_EQ(given.size(), groups.size() - GetParam().num_late);
    for (std::size_t g = 0; g < given.size(); ++g) {
        EXPECT_EQ(given_at[g], groups[g + GetParam().num_late].entry + 1) << g;
        EXPECT_EQ(given[g].segment.wanted, groups[g].wanted) << g;
        ASSERT_EQ(static_cast<std::int64_t>(given[g].packets.size()), groups[g].num_packets()) << g;
        for (std::int64_t k = groups[g].entry; k <= groups[g].last; ++k) {
            const auto& packet = given[g].packets[static_cast<std::size_t>(k - groups[g].entry)];
            EXPECT_EQ(packet.pos, index.packet(k).pos) << k;
            EXPECT_EQ(static_cast<std::int64_t>(packet.data.size()), index.packet(k).size_bytes) << k;
        }
    }
}

TEST_P(EarlyGroupsOf, are_no_more_than_asked_for_and_none_past_the_frames_asked_for) {
    int given = 0;
    EarlyGroups two({2, -1, 16}, [&](const EarlyGroup&) { ++given; });
    static_cast<void>(read(two));
    EXPECT_EQ(given, 2);

    std::int64_t last = -1;
    EarlyGroups of_70({100, 70, 16}, [&](const EarlyGroup& group) { last = group.segment.wanted.back(); });
    const auto index = read(of_70);
    EXPECT_GT(last, 0);
    EXPECT_LT(last, 70);
    EXPECT_TRUE(of_70.hold(index, groups_of(index, 70)));
}

TEST_P(EarlyGroupsOf, leave_the_packets_of_the_last_groups_which_need_not_be_read_again) {
    EarlyGroups early({100, -1, 16}, [](const EarlyGroup&) {});
    const auto index = read(early);
    const auto groups = groups_of(index, index.num_frames());
    const auto num_given = groups.size() - GetParam().num_late;
    for (std::size_t g = 0; g < num_given; ++g) EXPECT_TRUE(early.packets_of(groups[g]).empty()) << g;
    for (std::size_t g = num_given; g < groups.size(); ++g) {
        const auto packets = early.packets_of(groups[g]);
        ASSERT_EQ(static_cast<std::int64_t>(packets.size()), groups[g].num_packets()) << g;
        EXPECT_EQ(packets.front().pos, index.packet(groups[g].entry).pos) << g;
        EXPECT_EQ(packets.back().pos, index.packet(groups[g].last).pos) << g;
    }
    Segment past_the_end = groups.back();
    ++past_the_end.last;
    EXPECT_TRUE(early.packets_of(past_the_end).empty());
}

TEST_P(EarlyGroupsOf, do_not_hold_for_other_groups) {
    EarlyGroups early({100, -1, 16}, [](const EarlyGroup&) {});
    const auto index = read(early);
    auto groups = groups_of(index, index.num_frames());
    EXPECT_FALSE(early.hold(index, {groups.front()}));
    groups.front().wanted.pop_back();
    EXPECT_FALSE(early.hold(index, groups));
    const EarlyGroups none({100, -1, 16}, [](const EarlyGroup&) {});
    EXPECT_TRUE(none.hold(index, {}));
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, EarlyGroupsOf,
    ::testing::Values(
        EarlyCase{"closed", "early.closed.mp4", "-pix_fmt yuv420p -c:v libx264 -g 20 -bf 2 -sc_threshold 0", 6, 1},
        // Frames shown before a key frame are coded behind it, and belong to the group before.
        EarlyCase{"open", "early.open.mp4",
                  "-pix_fmt yuv420p -c:v libx264 -g 20 -bf 2 -sc_threshold 0 -x264-params open-gop=1", 6, 2},
        EarlyCase{"open_hevc", "early.hevc.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params "
                  "keyint=20:min-keyint=20:scenecut=0:bframes=2:open-gop=1:log-level=error",
                  6, 2},
        EarlyCase{"closed_hevc", "early.closed_hevc.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params "
                  "keyint=20:min-keyint=20:scenecut=0:bframes=2:open-gop=0:log-level=error",
                  6, 1},
        EarlyCase{"short_groups", "early.short.mp4", "-pix_fmt yuv420p -c:v libx264 -g 5 -bf 0 -sc_threshold 0", 6, 1}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tricodec
