// SPDX-License-Identifier: Apache-2.0
/// NVDEC against libavcodec by codec: the same samples, or as near as the codec's standard lets them be.
#include <gtest/gtest.h>

#include "gpu/nvdec_testing.h"

namespace tricodec {
namespace {

using namespace testing;

struct CodecCase {
    const char* file;
    const char* arguments;
    PixelFormat format;
    const char* size = "322x242";
    std::size_t num_frames = 30;
};

/// What tests/python/gpu/test_exact_gpu.py has no clip of: formats of frames, and the largest common pictures.
class NvdecOfCodec : public ::testing::TestWithParam<CodecCase> {};

TEST_P(NvdecOfCodec, gives_the_frames_that_libavcodec_gives) {
    const auto& wanted = GetParam();
    const auto result = compare(clip(wanted.file, wanted.arguments, static_cast<int>(wanted.num_frames), wanted.size));
    EXPECT_EQ(result.refusal, "");
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.format, wanted.format);
    EXPECT_EQ(result.num_frames, wanted.num_frames);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOfCodec,
    ::testing::Values(
        CodecCase{"g.hevc12.mkv",
                  "-pix_fmt yuv420p12le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::p012le},
        CodecCase{"g.hevc444.mkv",
                  "-pix_fmt yuv444p -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p},
        CodecCase{"g.hevc444_10.mkv",
                  "-pix_fmt yuv444p10le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p10msble},
        CodecCase{"g.hevc444_12.mkv",
                  "-pix_fmt yuv444p12le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p12msble},
        CodecCase{"g.vp9_12.webm", "-pix_fmt yuv420p12le -c:v libvpx-vp9 -profile:v 2 -b:v 300k -deadline realtime",
                  PixelFormat::p012le},
        CodecCase{"g.h264.2160p.mp4", "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -bf 2 -g 4", PixelFormat::nv12,
                  "3840x2160", 8},
        CodecCase{"g.hevc.2160p.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params keyint=4:bframes=2:log-level=none",
                  PixelFormat::nv12, "3840x2160", 8},
        CodecCase{"g.hevc10.2160p.mp4",
                  "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params keyint=4:bframes=2:log-level=none",
                  PixelFormat::p010le, "3840x2160", 8},
        CodecCase{"g.vp8.2160p.webm", "-pix_fmt yuv420p -c:v libvpx -b:v 8M -deadline realtime -cpu-used 8 -g 4",
                  PixelFormat::nv12, "3840x2160", 8},
        CodecCase{"g.vp9.2160p.webm", "-pix_fmt yuv420p -c:v libvpx-vp9 -b:v 8M -deadline realtime -cpu-used 8 -g 4",
                  PixelFormat::nv12, "3840x2160", 8}),
    testing::name_of_file);

/// Codecs with standards that leave the rounding of the inverse transform to decoders.
class NvdecOfInexactCodec : public ::testing::TestWithParam<CodecCase> {};

TEST_P(NvdecOfInexactCodec, gives_samples_that_differ_from_those_of_libavcodec_by_3_at_most) {
    const auto& wanted = GetParam();
    const auto path = clip(wanted.file, wanted.arguments, 30, wanted.size);
    const auto result = compare(path);
    EXPECT_EQ(result.refusal, "");
    EXPECT_EQ(result.format, wanted.format);
    EXPECT_EQ(result.num_frames, 30u);
    EXPECT_EQ(result.num_cpu_frames, 30u);
    EXPECT_LE(result.largest, 3) << result.difference;
    EXPECT_NE(nvdec::doubt(open(path)->stream().codec), "");
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOfInexactCodec,
    ::testing::Values(CodecCase{"g.mpeg1.mkv", "-pix_fmt yuv420p -c:v mpeg1video -bf 2", PixelFormat::nv12, "320x242"},
                      CodecCase{"g.mpeg2.ts", "-pix_fmt yuv420p -c:v mpeg2video -bf 2", PixelFormat::nv12, "320x242"},
                      CodecCase{"g.mpeg4.mp4", "-pix_fmt yuv420p -c:v mpeg4 -bf 2", PixelFormat::nv12},
                      CodecCase{"g.mjpeg.mkv", "-pix_fmt yuvj420p -c:v mjpeg -q:v 4", PixelFormat::nv12}),
    testing::name_of_file);

TEST(NvdecOfGray, is_exact_where_the_driver_decodes_it_and_refused_with_its_chroma_elsewhere) {
    const auto path = clip("g.hevc_gray.mkv",
                           "-pix_fmt gray -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                           30, "322x242");
    const auto result = compare(path);
    RecordProperty("refusal", result.refusal);
    if (result.refusal.empty()) {
        EXPECT_EQ(result.difference, "");
        EXPECT_EQ(result.format, PixelFormat::gray);
        EXPECT_EQ(result.num_frames, 30u);
    } else {
        EXPECT_NE(result.refusal.find("hevc 4:0:0 of 8 bits"), std::string::npos) << result.refusal;
    }
}

TEST(NvdecOfMpeg, refuses_pictures_that_it_would_cut_off) {
    for (const auto* name : {"g.cut.mpeg1.mkv", "g.cut.mpeg2.ts"}) {
        const std::string codec = std::string(name).find("mpeg1") == std::string::npos ? "mpeg2video" : "mpeg1video";
        const auto stream = open(clip(name, "-pix_fmt yuv420p -c:v " + codec, 3, "322x242"))->stream();
        EXPECT_NE(nvdec::refusal(stream, kGpu.index).find("these pictures have 322"), std::string::npos) << name;
    }
}

TEST(NvdecOfVp8, refuses_pictures_of_an_odd_size) {
    const auto stream = open(clip("g.odd.vp8.webm", "-vf scale=175:143 -pix_fmt yuv420p -c:v libvpx", 3))->stream();
    const auto reason = nvdec::refusal(stream, kGpu.index);
    EXPECT_NE(reason.find("VP8 of an odd size exactly"), std::string::npos) << reason;
}

}  // namespace
}  // namespace tricodec
