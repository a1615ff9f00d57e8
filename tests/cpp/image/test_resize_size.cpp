// SPDX-License-Identifier: Apache-2.0
// tests/python/dali/test_dali_migration.py compares the sizes with those of DALI's own resize.
#include <gtest/gtest.h>

#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

constexpr Size kPicture{.height = 1080, .width = 1920};

TEST(ResizedSize, KeepsTheProportions) {
    EXPECT_EQ(resized_size({.height = 256, .width = 256, .mode = ResizeMode::not_smaller}, kPicture), (Size{256, 455}));
    EXPECT_EQ(resized_size({.height = 256, .width = 256, .mode = ResizeMode::not_larger}, kPicture), (Size{144, 256}));
    EXPECT_EQ(resized_size({.width = 480}, kPicture), (Size{270, 480}));
}

TEST(ResizedSize, KeepsAnExtentThatIsNotGivenWhenItStretches) {
    EXPECT_EQ(resized_size({.width = 480, .mode = ResizeMode::stretch}, kPicture), (Size{1080, 480}));
}

TEST(ResizedSize, StaysWithinTheLimit) {
    const ResizeRequest request{
        .height = 800, .width = 800, .mode = ResizeMode::not_smaller, .max_height = 1400.0F, .max_width = 1400.0F};
    EXPECT_EQ(resized_size(request, {.height = 600, .width = 1200}), (Size{700, 1400}));
}

TEST(ResizedSize, IsAtLeastOnePixel) {
    EXPECT_EQ(resized_size({.width = 1}, kPicture), (Size{1, 1}));
}

TEST(ResizedSize, RefusesSizesThatAreNone) {
    EXPECT_THROW((void)resized_size({}, kPicture), Error);
    EXPECT_THROW((void)resized_size({.width = -3}, kPicture), Error);
    EXPECT_THROW((void)parse_resize_mode("fit"), Error);
}

}  // namespace
}  // namespace tricodec
