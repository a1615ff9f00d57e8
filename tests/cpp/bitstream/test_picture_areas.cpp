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
