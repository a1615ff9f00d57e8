// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bitstream/sps.h"
#include "bitstream/stream_headers.h"
#include "io/bit_reader.h"
#include "media.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::standard_clip;

struct Case {
    const char* name;
    const char* arguments;
};

class HeadersOf : public ::testing::TestWithParam<Case> {};

TEST_P(HeadersOf, say_what_decoding_says) {
    const auto path = clip(GetParam().name, GetParam().arguments, 25);
    const auto source = MediaSource::from_path(path);
    DemuxerOptions thorough;
    thorough.thorough = true;
    const auto decoded = Demuxer::open(source, thorough)->stream();
    const auto told = Demuxer::open(source)->stream();
    EXPECT_EQ(told.pixel_format_name, decoded.pixel_format_name);
    EXPECT_EQ(told.profile, decoded.profile);
    EXPECT_EQ(told.level, decoded.level);
    EXPECT_EQ(told.width, decoded.width);
    EXPECT_EQ(told.height, decoded.height);
    EXPECT_EQ(told.color, decoded.color);
    EXPECT_EQ(told.sample_aspect_ratio, decoded.sample_aspect_ratio);
    EXPECT_EQ(told.interlaced, decoded.interlaced);
    EXPECT_EQ(told.start_pts, decoded.start_pts);
    EXPECT_EQ(told.duration, decoded.duration);
    EXPECT_EQ(told.average_frame_rate, decoded.average_frame_rate);
    EXPECT_EQ(told.real_frame_rate, decoded.real_frame_rate);
}

INSTANTIATE_TEST_SUITE_P(
    Clips, HeadersOf,
    ::testing::Values(
        Case{"headers_high.mp4", "-pix_fmt yuv420p -c:v libx264 -bf 3 -g 12"},
        Case{"headers_high.mkv", "-pix_fmt yuv420p -c:v libx264 -bf 2 -g 12"},
        Case{"headers_baseline.mkv", "-c:v libx264 -pix_fmt yuv420p -profile:v baseline"},
        Case{"headers_full.mp4", "-c:v libx264 -pix_fmt yuvj420p"},
        Case{"headers_color.mkv",
             "-pix_fmt yuv420p -c:v libx264 -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv"},
        Case{"headers_422_10.mkv", "-c:v libx264 -pix_fmt yuv422p10le"},
        Case{"headers_444.mp4", "-c:v libx264 -pix_fmt yuv444p"},
        Case{"headers_sar.mp4", "-c:v libx264 -pix_fmt yuv420p -vf setsar=4/3"},
        Case{"headers_interlaced.mp4", "-pix_fmt yuv420p -c:v libx264 -flags +ildct+ilme"},
        Case{"headers_intra_10.mkv", "-c:v libx264 -pix_fmt yuv420p10le -g 1"},
        Case{"headers_odd.mp4", "-c:v libx264 -pix_fmt yuv420p -vf scale=322:182"},
        Case{"headers_rgb.mkv", "-c:v libx264rgb"}, Case{"headers_gray.mkv", "-c:v libx264 -pix_fmt gray"},
        Case{"headers_vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"},
        Case{"headers_vp9.mp4", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p -colorspace bt709"},
        Case{"headers_vp9_444.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv444p"},
        Case{"headers_vp9_10.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p10le"}),
    testing::name_of_file);

TEST(H264Sps, is_refused_rather_than_misread_when_damaged) {
    DemuxerOptions annexb;
    annexb.annexb = true;  // parameter sets stand in front of the first picture
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()), annexb);
    const auto packet = demuxer->read();
    std::vector<std::byte> record;
    for_each_nal(packet->data, 0, [&](Bytes nal) {
        if (record.empty() && (byte_at(nal, 0) & 31) == 7) record.assign(nal.begin(), nal.end());
    });
    const auto whole = parse_h264_sps(record);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(whole->coded_width - whole->crop_left - whole->crop_right, 320);
    EXPECT_EQ(whole->coded_height - whole->crop_top - whole->crop_bottom, 180);
    EXPECT_GT(whole->num_reorder_frames, 0);
    for (std::size_t size = 0; size < 12; ++size) EXPECT_FALSE(parse_h264_sps(Bytes(record).first(size)).has_value());
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {  // any bytes give a readable set or none, and sizes that fit
        auto mutated = record;
        for (int k = 0; k < 4; ++k) mutated[random() % mutated.size()] = static_cast<std::byte>(random());
        const auto sps = parse_h264_sps(mutated);
        if (!sps) continue;
        EXPECT_GT(sps->coded_width - sps->crop_left - sps->crop_right, 0);
        EXPECT_GT(sps->coded_height - sps->crop_top - sps->crop_bottom, 0);
    }
}

TEST(BitReader, gives_zeros_and_says_so_past_the_end) {
    const std::uint8_t bytes[] = {0b1010'0110};  // ue(v): 0, 1, then 4 bits 0110
    BitReader bits(bytes);
    EXPECT_EQ(bits.exp_golomb(), 0u);
    EXPECT_EQ(bits.exp_golomb(), 1u);
    EXPECT_EQ(bits.bits(4), 6u);
    EXPECT_TRUE(bits.ok());
    EXPECT_EQ(bits.bits(3), 0u);
    EXPECT_FALSE(bits.ok());
    EXPECT_EQ(bits.exp_golomb(), 0u);
}

TEST(Leb128, ends_within_eight_bytes_or_is_none) {
    const std::vector<std::uint8_t> bytes = {0xe5, 0x8e, 0x26, 0xff};
    const auto number = read_leb128(std::span(bytes));
    ASSERT_TRUE(number.has_value());
    EXPECT_EQ(number->value, 624485u);
    EXPECT_EQ(number->num_bytes, 3u);
    EXPECT_FALSE(read_leb128(std::span(bytes).first(2)).has_value());
    EXPECT_FALSE(read_leb128(std::span<const std::uint8_t>()).has_value());
    const std::vector<std::uint8_t> endless(9, 0x80);
    EXPECT_FALSE(read_leb128(std::span(endless)).has_value());
}

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
