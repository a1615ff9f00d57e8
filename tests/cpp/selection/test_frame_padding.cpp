// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {
namespace {

std::vector<std::int64_t> places(const char* mode, std::int64_t num_frames, std::int64_t count) {
    std::vector<std::int64_t> frames;
    for (std::int64_t i = 0; i < count; ++i) frames.push_back(padded_frame(parse_pad_mode(mode), i, num_frames));
    return frames;
}

TEST(PaddedFrame, FillsPlacesPastTheEnd) {
    using Frames = std::vector<std::int64_t>;
    EXPECT_EQ(places("constant", 2, 4), (Frames{0, 1, kNoFrame, kNoFrame}));
    EXPECT_EQ(places("none", 2, 3), (Frames{0, 1, kNoFrame}));
    EXPECT_EQ(places("edge", 3, 6), (Frames{0, 1, 2, 2, 2, 2}));
    EXPECT_EQ(places("reflect_1001", 3, 9), (Frames{0, 1, 2, 2, 1, 0, 0, 1, 2}));
    EXPECT_EQ(places("reflect_101", 3, 9), (Frames{0, 1, 2, 1, 0, 1, 2, 1, 0}));
    for (const char* mode : {"repeat", "symmetric", "reflect"}) EXPECT_EQ(places(mode, 1, 4), (Frames{0, 0, 0, 0}));
}

TEST(PaddedFrame, NamesTheModesThatAreAccepted) {
    EXPECT_THROW((void)parse_pad_mode("zeros"), Error);
}

}  // namespace
}  // namespace tricodec
