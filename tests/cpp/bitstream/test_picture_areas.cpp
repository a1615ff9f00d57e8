// SPDX-License-Identifier: Apache-2.0
/// Parameter sets tell what is shown of a picture: what NVDEC's pictures are cut by.
#include <gtest/gtest.h>

#include "bitstream/picture_areas.h"
#include "ffmpeg/ffmpeg.h"
#include "media.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

using testing::clip;

struct Case {
    const char* name;
    const char* arguments;
    PictureArea area;
};

class PictureAreasOf : public ::testing::TestWithParam<Case> {};

TEST_P(PictureAreasOf, are_what_the_parameter_sets_show) {
    const auto path = clip(GetParam().name, GetParam().arguments, 3, "352x288");
    const auto demuxer = Demuxer::open(MediaSource::from_path(path), {.annexb = true});
    PictureAreas areas(demuxer->stream());
    EXPECT_EQ(areas.of(0), std::nullopt);
    const auto packet = demuxer->read();
    ASSERT_TRUE(packet);
    areas.learn(packet->data);
    EXPECT_EQ(areas.of(0), GetParam().area);
    EXPECT_EQ(areas.of(7), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Clips, PictureAreasOf,
    ::testing::Values(
        Case{"area.h264", "-pix_fmt yuv420p -c:v libx264", {0, 0, 352, 288}},
        Case{"area.crop.h264",
             "-pix_fmt yuv420p -c:v libx264 -bsf:v "
             "h264_metadata=crop_left=26:crop_right=26:crop_top=60:crop_bottom=60",
             {26, 60, 300, 168}},
        Case{"area.crop.mp4",
             "-pix_fmt yuv420p -c:v libx264 -bsf:v h264_metadata=crop_left=26:crop_right=2:crop_top=6:crop_bottom=8",
             {26, 6, 324, 274}},
        Case{"area.field.h264",
             "-pix_fmt yuv420p -c:v libx264 -flags +ildct+ilme -x264-params tff=1 -bsf:v "
             "h264_metadata=crop_left=2:crop_right=4:crop_top=8:crop_bottom=12",
             {2, 8, 346, 268}},
        Case{"area.422_10.h264",
             "-pix_fmt yuv422p10le -c:v libx264 -bsf:v "
             "h264_metadata=crop_left=2:crop_right=4:crop_top=1:crop_bottom=3",
             {2, 1, 346, 284}},
        Case{"area.444.h264",
             "-pix_fmt yuv444p -c:v libx264 -bsf:v h264_metadata=crop_left=1:crop_right=3:crop_top=5:crop_bottom=7",
             {1, 5, 348, 276}},
        Case{"area.hevc",
             "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1 -bsf:v "
             "hevc_metadata=crop_left=26:crop_right=2:crop_top=6:crop_bottom=8",
             {26, 6, 324, 274}},
        Case{"area.layers.mkv",
             "-pix_fmt yuv422p10le -c:v libx265 -preset ultrafast -x265-params "
             "log-level=none:pools=1:temporal-layers=1 -bsf:v "
             "hevc_metadata=crop_left=2:crop_right=4:crop_top=1:crop_bottom=3",
             {2, 1, 346, 284}}),
    testing::name_of_file);

TEST(PictureAreas, keep_to_the_containers_size_until_it_does_not_fit) {
    const auto path = clip("area.h264", "-pix_fmt yuv420p -c:v libx264", 3, "352x288");
    const auto demuxer = Demuxer::open(MediaSource::from_path(path));
    const auto packet = demuxer->read();
    ASSERT_TRUE(packet);
    const auto with_size = [&](int width, int height) {
        StreamInfo stream = demuxer->stream();
        std::shared_ptr<AVCodecParameters> parameters = ff::ParametersPtr(avcodec_parameters_alloc());
        parameters->width = width;
        parameters->height = height;
        stream.parameters = parameters;
        PictureAreas areas(stream);
        areas.learn(packet->data);
        return *areas.of(0);
    };
    const PictureArea whole{0, 0, 352, 288};
    EXPECT_EQ(with_size(350, 273), (PictureArea{0, 0, 350, 273}));
    EXPECT_EQ(with_size(336, 288), whole);  // a macroblock less
    EXPECT_EQ(with_size(353, 288), whole);
    EXPECT_EQ(with_size(0, 0), whole);
}

}  // namespace
}  // namespace tricodec
