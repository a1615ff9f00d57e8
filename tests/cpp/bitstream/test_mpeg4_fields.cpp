// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bitstream/mpeg4_fields.h"
#include "media.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

bool needs_one_thread(const std::string& name, const std::string& flags) {
    const auto path = testing::clip(name, "-pix_fmt yuv420p -c:v mpeg4 -g 12 -bf 2 " + flags);
    return is_decoded_by_one_thread(Demuxer::open(MediaSource::from_path(path), {})->stream());
}

TEST(Mpeg4Fields, are_told_by_the_header_of_the_layer) {
    EXPECT_TRUE(needs_one_thread("fields.avi", "-flags +ilme+ildct"));
    EXPECT_FALSE(needs_one_thread("no_fields.avi", ""));
    EXPECT_FALSE(needs_one_thread("no_fields.mp4", ""));
}

}  // namespace
}  // namespace tricodec
