// SPDX-License-Identifier: Apache-2.0
/// Pictures of HEVC that name others, which are kept or missing. The key frame is at the place 8.
#include <gtest/gtest.h>

#include "media/hevc_marks.h"

namespace tricodec {
namespace {

constexpr int kOrderBits = 4;
constexpr std::int64_t kKey = 8;

class HevcPictures : public ::testing::Test {
protected:
    /// A picture that refers to those at the places.
    static HevcMarks::Picture picture(std::int64_t place, std::vector<std::int64_t> places) {
        HevcMarks::Picture made{.place = place, .references = std::vector<HevcReference>{}};
        for (const auto other : places) made.references->push_back({.distance = other - place, .used = true});
        return made;
    }
    static HevcMarks::Picture key(std::vector<std::int64_t> places) {
        auto made = picture(kKey, std::move(places));
        made.is_irap = made.is_open_entry = true;
        return made;
    }
    static HevcMarks::Picture leading(std::int64_t place, std::vector<std::int64_t> places, bool is_rasl) {
        auto made = picture(place, std::move(places));
        made.is_leading = true;
        made.is_rasl = is_rasl;
        return made;
    }
    /// An IDR picture, and two that the key frame's leading pictures may refer to.
    void begin() {
        auto idr = picture(0, {});
        idr.is_irap = idr.is_idr = idr.restarts = true;
        EXPECT_TRUE(add(idr));
        EXPECT_TRUE(add(picture(4, {0})));
    }
    bool add(HevcMarks::Picture picture) {
        picture.packet = next_++;
        return marks_.add(picture, kOrderBits);
    }
    [[nodiscard]] std::size_t num_false() const { return marks_.false_entries().size(); }

    HevcMarks marks_;
    std::int64_t next_ = 0;
};

TEST_F(HevcPictures, name_what_is_kept) {
    begin();
    EXPECT_TRUE(add(key({0, 4})));
    EXPECT_TRUE(add(leading(6, {4, 8}, true)));
    EXPECT_TRUE(add(picture(12, {8})));
    EXPECT_TRUE(add(picture(10, {8, 12})));
    EXPECT_EQ(num_false(), 0U);
}

TEST_F(HevcPictures, name_what_was_never_there) {
    begin();
    EXPECT_TRUE(add(key({0, 4})));
    EXPECT_FALSE(add(picture(12, {8, 10})));
    EXPECT_EQ(num_false(), 1U);
}

TEST_F(HevcPictures, name_what_the_one_before_did_not_keep) {
    begin();
    EXPECT_TRUE(add(picture(8, {4})));
    EXPECT_FALSE(add(picture(12, {8, 0})));
}

TEST_F(HevcPictures, name_a_missing_one_that_they_do_not_refer_to) {
    begin();
    auto keeps = picture(6, {4});
    keeps.references->push_back({.distance = -5, .used = false});
    EXPECT_FALSE(add(keeps));
}

TEST_F(HevcPictures, name_one_by_the_low_bits_of_its_number) {
    begin();
    auto far = picture(36, {4});
    far.references = std::vector<HevcReference>{{.distance = -16, .used = true, .by_low = true}};
    EXPECT_TRUE(add(far));
    far.place = 52;
    far.references = std::vector<HevcReference>{{.distance = -15, .used = true, .by_low = true}};
    EXPECT_FALSE(add(far));
}

TEST_F(HevcPictures, are_not_missed_before_a_first_key_frame) {
    EXPECT_TRUE(add(key({0, 4})));
    EXPECT_TRUE(add(leading(6, {4, 8}, true)));
    EXPECT_TRUE(add(leading(7, {5, 8}, false)));
    EXPECT_FALSE(add(picture(12, {8, 6})));  // which decoders left out
}

TEST_F(HevcPictures, are_missed_in_the_leading_pictures_of_a_later_key_frame) {
    begin();
    EXPECT_TRUE(add(key({0, 4})));
    EXPECT_FALSE(add(leading(6, {2, 8}, true)));
}

TEST_F(HevcPictures, whose_headers_cannot_be_read_leave_doubt_until_a_key_frame) {
    begin();
    EXPECT_TRUE(add(key({0, 4})));
    auto damaged = picture(12, {});
    damaged.references.reset();
    EXPECT_TRUE(add(damaged));
    EXPECT_EQ(num_false(), 1U);
    EXPECT_TRUE(add(picture(14, {1})));
    auto next = key({});
    next.place = 16;
    EXPECT_TRUE(add(next));
    EXPECT_FALSE(add(picture(20, {12})));
}

}  // namespace
}  // namespace tricodec
