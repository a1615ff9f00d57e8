// SPDX-License-Identifier: Apache-2.0
/// Open key frames of H.264 after which pictures may refer to older ones. The numbers of pictures are twice their
/// places.
#include <gtest/gtest.h>

#include "media/reference_marks.h"

namespace tricodec {
namespace {

constexpr std::int64_t kKey = 4;  // the packet of the open key frame

class AfterAnOpenKeyFrame : public ::testing::Test {
protected:
    AfterAnOpenKeyFrame() {
        sps_.frame_num_bits = 4;
        sps_.num_reference_frames = 4;
        add({.is_idr = true}, intra());
        for (int i = 1; i < kKey; ++i) add({}, inter(1));
        add({.is_open_entry = true}, intra());
    }

    static H264References intra() { return {}; }
    static H264References inter(std::uint32_t num_active) {
        H264References references;
        references.is_inter = true;
        references.lists[0].num_active = num_active;
        return references;
    }
    static H264References bidirectional() {
        auto references = inter(1);
        references.is_bidirectional = true;
        references.lists[1].num_active = 1;
        return references;
    }
    static H264References forgetting(std::vector<std::uint32_t> differences) {
        auto references = inter(1);
        references.slides = false;
        for (const auto difference : differences) references.commands.push_back({.kind = 1, .difference = difference});
        return references;
    }

    /// A reference picture that is shown after those before, or at `place`.
    void add(ReferenceMarks::Picture picture, const H264References& references, std::int64_t place = -1) {
        picture.packet = next_;
        picture.frame_num = static_cast<std::uint32_t>(next_) % 16;
        picture.place = place < 0 ? 2 * next_ : place;
        picture.is_reference = true;
        ++next_;
        fits_ = marks_.add(picture, std::vector{references}, sps_) && fits_;
    }

    void expect_believed() const { EXPECT_TRUE(marks_.false_entries().empty()); }
    void expect_false() const { EXPECT_EQ(marks_.false_entries(), std::vector{kKey}); }

    H264Sps sps_;
    ReferenceMarks marks_;
    std::int64_t next_ = 0;
    bool fits_ = true;  // no picture names one that is not kept
};

TEST_F(AfterAnOpenKeyFrame, short_lists_hold_no_older_picture) {
    for (int i = 0; i < 8; ++i) add({}, inter(1));
    expect_believed();
    EXPECT_TRUE(fits_);
}

TEST_F(AfterAnOpenKeyFrame, a_list_that_is_longer_than_what_is_newer_reaches_an_older_picture) {
    add({}, inter(1));
    add({}, inter(2));
    expect_believed();
    add({}, inter(4));
    expect_false();
    EXPECT_TRUE(fits_);
}

TEST_F(AfterAnOpenKeyFrame, a_list_that_is_longer_than_what_is_kept_does_not_fit) {
    add({}, inter(5));
    EXPECT_FALSE(fits_);
}

TEST_F(AfterAnOpenKeyFrame, a_command_may_name_a_newer_picture_twice_and_no_older_one) {
    auto twice = inter(2);
    twice.lists[0].commands = {{0, 0}, {1, 15}};
    add({}, twice);
    expect_believed();
    auto older = inter(1);
    older.lists[0].commands = {{0, 2}};
    add({}, older);
    expect_false();
}

TEST_F(AfterAnOpenKeyFrame, a_picture_that_is_shown_before_it_may_refer_to_older_ones) {
    add({}, inter(4), 2 * kKey - 1);
    expect_believed();
}

TEST_F(AfterAnOpenKeyFrame, no_picture_may_refer_to_one_that_is_shown_before_it) {
    add({}, inter(1), 2 * kKey - 1);
    add({}, inter(1));
    expect_false();
}

TEST_F(AfterAnOpenKeyFrame, a_reference_that_is_shown_before_it_comes_too_late_after_the_older_ones_are_forgotten) {
    add({}, forgetting({2, 3, 4}));
    add({}, inter(1), 2 * kKey - 1);
    expect_false();
}

TEST_F(AfterAnOpenKeyFrame, a_second_list_without_later_pictures_begins_with_another_one) {
    add({}, forgetting({2, 3, 4}));
    add({}, inter(1), 2 * kKey + 4);
    add({}, bidirectional(), 2 * kKey + 3);
    expect_believed();
    add({}, bidirectional());
    expect_believed();  // of three pictures
}

TEST_F(AfterAnOpenKeyFrame, two_pictures_of_one_place_are_one_in_the_lists_of_a_bidirectional_picture) {
    add({}, forgetting({2, 3, 4}), 2 * kKey);
    add({}, bidirectional());
    expect_false();
}

TEST_F(AfterAnOpenKeyFrame, a_header_that_cannot_be_read_leaves_doubt) {
    marks_.lose();
    expect_false();
}

TEST_F(AfterAnOpenKeyFrame, an_idr_picture_ends_the_doubt) {
    add({.is_idr = true}, intra());
    marks_.lose();
    expect_believed();
}

TEST_F(AfterAnOpenKeyFrame, a_key_frame_with_a_list_is_false_itself) {
    add({.is_idr = true}, intra());
    add({.is_open_entry = true}, inter(1));
    EXPECT_EQ(marks_.false_entries(), std::vector<std::int64_t>{next_ - 1});
}

}  // namespace
}  // namespace tricodec
