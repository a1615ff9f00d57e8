// SPDX-License-Identifier: Apache-2.0
/// NVDEC against libavcodec by codec: the same samples, or as near as the codec's standard lets them be.
#include <gtest/gtest.h>

#include "decode/engines.h"
#include "gpu/nvdec_testing.h"

namespace tricodec {
namespace {

using namespace testing;

struct CodecCase {
    const char* file;
    const char* arguments;
    PixelFormat format;
    const char* size = "322x242";
};

class NvdecOfCodec : public ::testing::TestWithParam<CodecCase> {};

TEST_P(NvdecOfCodec, gives_the_frames_that_libavcodec_gives) {
    const auto& wanted = GetParam();
    const auto result = compare(clip(wanted.file, wanted.arguments, 30, wanted.size));
    EXPECT_EQ(result.refusal, "");
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.format, wanted.format);
    EXPECT_EQ(result.num_frames, 30u);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOfCodec,
    ::testing::Values(
        CodecCase{"g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", PixelFormat::nv12},
        CodecCase{"g.h264.open.mkv",
                  "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3 -x264-params open-gop=1:b-pyramid=normal",
                  PixelFormat::nv12},
        CodecCase{"g.h264.ts", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", PixelFormat::nv12},
        CodecCase{"g.h264.mbaff.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -flags +ilme+ildct -x264-params tff=1",
                  PixelFormat::nv12, "320x256"},
        CodecCase{"g.hevc.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset fast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::nv12},
        CodecCase{"g.hevc10.mkv",
                  "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::p010le},
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
        CodecCase{"g.vp8.webm", "-pix_fmt yuv420p -c:v libvpx -b:v 300k -deadline realtime", PixelFormat::nv12},
        CodecCase{"g.vp9.webm", "-pix_fmt yuv420p -c:v libvpx-vp9 -b:v 300k -deadline realtime", PixelFormat::nv12},
        CodecCase{"g.vp9.odd.webm", "-vf scale=323:243 -pix_fmt yuv420p -c:v libvpx-vp9 -b:v 300k -deadline realtime",
                  PixelFormat::nv12},
        CodecCase{"g.vp9_12.webm", "-pix_fmt yuv420p12le -c:v libvpx-vp9 -profile:v 2 -b:v 300k -deadline realtime",
                  PixelFormat::p012le},
        CodecCase{"g.vp9_10.webm", "-pix_fmt yuv420p10le -c:v libvpx-vp9 -profile:v 2 -b:v 300k -deadline realtime",
                  PixelFormat::p010le}),
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
    EXPECT_NE(nvdec_doubt(open(path)->stream().codec), "");
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOfInexactCodec,
    ::testing::Values(CodecCase{"g.mpeg1.mkv", "-pix_fmt yuv420p -c:v mpeg1video -bf 2", PixelFormat::nv12, "320x242"},
                      CodecCase{"g.mpeg2.ts", "-pix_fmt yuv420p -c:v mpeg2video -bf 2", PixelFormat::nv12, "320x242"},
                      CodecCase{"g.mpeg4.mp4", "-pix_fmt yuv420p -c:v mpeg4 -bf 2", PixelFormat::nv12},
                      CodecCase{"g.mjpeg.mkv", "-pix_fmt yuvj420p -c:v mjpeg -q:v 4", PixelFormat::nv12}),
    testing::name_of_file);

/// The largest pictures that are common, a few frames of them.
class NvdecOf2160p : public ::testing::TestWithParam<CodecCase> {};

TEST_P(NvdecOf2160p, gives_the_frames_that_libavcodec_gives) {
    const auto& wanted = GetParam();
    const auto result = compare(clip(wanted.file, wanted.arguments, 8, wanted.size));
    EXPECT_EQ(result.refusal, "");
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.format, wanted.format);
    EXPECT_EQ(result.num_frames, 8u);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOf2160p,
    ::testing::Values(
        CodecCase{"g.h264.2160p.mp4", "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -bf 2 -g 4", PixelFormat::nv12,
                  "3840x2160"},
        CodecCase{"g.hevc.2160p.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params keyint=4:bframes=2:log-level=none",
                  PixelFormat::nv12, "3840x2160"},
        CodecCase{"g.hevc10.2160p.mp4",
                  "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params keyint=4:bframes=2:log-level=none",
                  PixelFormat::p010le, "3840x2160"},
        CodecCase{"g.vp8.2160p.webm", "-pix_fmt yuv420p -c:v libvpx -b:v 8M -deadline realtime -cpu-used 8 -g 4",
                  PixelFormat::nv12, "3840x2160"},
        CodecCase{"g.vp9.2160p.webm", "-pix_fmt yuv420p -c:v libvpx-vp9 -b:v 8M -deadline realtime -cpu-used 8 -g 4",
                  PixelFormat::nv12, "3840x2160"}),
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

TEST(NvdecLimits, are_told_with_the_size_that_is_past_them) {
    StreamInfo stream = open(clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242"))->stream();
    for (const int size : {16, 32768}) {
        stream.width = stream.height = size;
        const auto reason = nvdec_refusal(stream, kGpu);
        const auto text = "not " + std::to_string(size) + "x" + std::to_string(size);
        EXPECT_NE(reason.find("NVDEC of this GPU decodes h264 4:2:0 of 8 bits from "), std::string::npos) << reason;
        EXPECT_NE(reason.find(text), std::string::npos) << reason;
    }
}

TEST(NvdecOfMpeg, refuses_pictures_that_it_would_cut_off) {
    for (const auto* name : {"g.cut.mpeg1.mkv", "g.cut.mpeg2.ts"}) {
        const std::string codec = std::string(name).find("mpeg1") == std::string::npos ? "mpeg2video" : "mpeg1video";
        const auto stream = open(clip(name, "-pix_fmt yuv420p -c:v " + codec, 3, "322x242"))->stream();
        EXPECT_NE(nvdec_refusal(stream, kGpu).find("these pictures have 322"), std::string::npos) << name;
    }
}

TEST(NvdecOfVp8, refuses_pictures_of_an_odd_size) {
    const auto stream = open(clip("g.odd.vp8.webm", "-vf scale=175:143 -pix_fmt yuv420p -c:v libvpx", 3))->stream();
    const auto reason = nvdec_refusal(stream, kGpu);
    EXPECT_NE(reason.find("VP8 of an odd size exactly"), std::string::npos) << reason;
}

}  // namespace
}  // namespace tricodec
