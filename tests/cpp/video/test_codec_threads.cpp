// SPDX-License-Identifier: Apache-2.0
/// How many threads a reader gives the codec that decodes its frames in order.
#include <gtest/gtest.h>

#include "media.h"
#include "media/decoder_context.h"
#include "video/frame_reader.h"

namespace tricodec {
namespace {

int threads_of(const std::string& name, const std::string& arguments, const std::string& size, int num_workers) {
    FrameReaderOptions options;
    options.device = "cpu";
    options.num_workers = num_workers;
    return FrameReaderImpl(MediaSource::from_path(testing::clip(name, arguments, 3, size)), options)
        .video()
        .num_threads();
}

constexpr const char* kH264 = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast";

TEST(CodecThreads, are_more_than_workers_as_each_waits_for_the_picture_before) {
    EXPECT_EQ(threads_of("threads_large.mp4", kH264, "1280x720", 1), 1);
    EXPECT_EQ(threads_of("threads_large.mp4", kH264, "1280x720", 2), 5);
    EXPECT_EQ(threads_of("threads_large.mp4", kH264, "1280x720", 100), 16);
}

TEST(CodecThreads, are_the_workers_where_pictures_are_small) {
    EXPECT_EQ(threads_of("threads_small.mp4", kH264, "640x360", 1), 1);
    EXPECT_EQ(threads_of("threads_small.mp4", kH264, "640x360", 2), 2);
}

TEST(CodecThreads, of_av1_are_the_workers_unless_the_codec_decodes_one_picture_at_once) {
    const AVCodec* codec = find_decoder(AV_CODEC_ID_AV1);
    ASSERT_NE(codec, nullptr);
    EXPECT_EQ(threads_of("threads_av1.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 12", "1280x720", 2),
              decodes_one_picture_at_once(*codec) ? 1 : 2);
}

}  // namespace
}  // namespace tricodec
