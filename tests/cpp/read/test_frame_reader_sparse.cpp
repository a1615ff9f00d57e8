// SPDX-License-Identifier: Apache-2.0
/// What a read does not decode: packets are counted, and the frames are ffmpeg's.
#include <gtest/gtest.h>

#include <random>

#include "media.h"
#include "read/frame_reader.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::packed;

constexpr std::size_t kFrameBytes = 320 * 180 * 3 / 2;

std::vector<std::byte> frame_of(const std::vector<std::byte>& video, std::int64_t i) {
    const auto at = video.begin() + i * static_cast<std::ptrdiff_t>(kFrameBytes);
    return {at, at + static_cast<std::ptrdiff_t>(kFrameBytes)};
}

FrameReaderImpl open(const std::filesystem::path& path, int num_workers = 1) {
    FrameReaderOptions options;
    options.num_workers = num_workers;
    return {MediaSource::from_path(path), options};
}

void expect_frames(FrameReader& reader, const std::vector<std::int64_t>& wanted, const std::vector<std::byte>& video) {
    const auto frames = reader.frames(wanted);
    ASSERT_EQ(frames.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(packed(frames[i]), frame_of(video, wanted[i])) << wanted[i];
}

struct SparseCase {
    const char* file;
    const char* arguments;
    bool has_unused_pictures;
};

class SparseReadOf : public ::testing::TestWithParam<SparseCase> {};

TEST_P(SparseReadOf, leaves_out_what_nothing_refers_to) {
    const auto path = clip(GetParam().file, GetParam().arguments);
    const auto video = testing::ffmpeg_bytes(path);
    auto reader = open(path);
    const std::vector<std::int64_t> wanted = {2, 9, 10, 21, 46};

    expect_frames(reader, wanted, video);

    EXPECT_EQ(reader.video().pool().num_left_out() > 0, GetParam().has_unused_pictures);
    EXPECT_LE(reader.video().pool().num_sent() + reader.video().pool().num_left_out(), 50);
    EXPECT_TRUE(reader.issues().empty());
    // What was left out is there when it is asked for.
    std::vector<std::int64_t> all(50);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    expect_frames(reader, all, video);
}

INSTANTIATE_TEST_SUITE_P(
    Streams, SparseReadOf,
    ::testing::Values(
        SparseCase{"s.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3", true},
        SparseCase{"s.h264_p.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 0", false},
        SparseCase{"s.h264_mbaff.ts",
                   "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3 -flags +ilme+ildct -x264opts tff", true},
        SparseCase{"s.hevc.mkv", "-pix_fmt yuv420p -c:v libx265 -preset veryfast -x265-params keyint=12:log-level=none",
                   true},
        SparseCase{"s.mpeg2.ts", "-pix_fmt yuv420p -c:v mpeg2video -g 12 -bf 2 -f mpegts", true},
        SparseCase{"s.mpeg4.mkv", "-pix_fmt yuv420p -c:v mpeg4 -g 12 -bf 2", true},
        SparseCase{"s.av1.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24", true},
        SparseCase{"s.av1.mkv", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24", true},
        SparseCase{"s.av1_low_delay.mp4",
                   "-pix_fmt yuv420p -c:v libaom-av1 -usage realtime -cpu-used 8 -g 24 -b:v 300k", false},
        SparseCase{"s.vp8.webm", "-pix_fmt yuv420p -c:v libvpx -b:v 300k -g 20", false}),
    testing::name_of_file);

TEST(SparseRead, one_group_of_pictures_is_decoded_once_for_all_its_frames) {
    const auto path = clip("s.one.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 50 -sc_threshold 0 -bf 0");
    auto reader = open(path);

    (void)reader.frames(std::vector<std::int64_t>{30, 20, 10});

    EXPECT_EQ(reader.video().pool().num_sent(), 31);
}

TEST(SparseRead, reading_on_in_pieces_decodes_each_packet_once) {
    const auto path = clip("s.pieces.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 25 -bf 3");
    const auto video = testing::ffmpeg_bytes(path);
    for (const int num_workers : {1, 2}) {
        auto reader = open(path, num_workers);
        for (std::int64_t i = 0; i < 50; i += 5) expect_frames(reader, {i, i + 1, i + 2, i + 3, i + 4}, video);
        EXPECT_EQ(reader.video().pool().num_sent(), 50) << num_workers;
    }
}

TEST(SparseRead, single_frames_further_on_do_not_start_again) {
    const auto path = clip("s.one.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 50 -sc_threshold 0 -bf 0");
    auto reader = open(path);

    for (std::int64_t i = 4; i < 50; i += 5) EXPECT_EQ(reader.frame(i).index, i);

    EXPECT_EQ(reader.video().pool().num_sent(), 50);
}

constexpr const char* kLayered = "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 48";

TEST(SparseRead, of_av1_decodes_little_beside_the_layers_of_the_wanted_pictures) {
    const auto path = clip("s.layers.mp4", kLayered);
    const auto video = testing::ffmpeg_bytes(path);
    auto reader = open(path);

    expect_frames(reader, {0, 8, 16, 24, 32, 40}, video);

    // Two layers of five: a wanted picture's unit, and the one that brings its mini group of 16.
    EXPECT_LE(reader.video().pool().num_sent(), 12);
    EXPECT_GE(reader.video().pool().num_left_out(), 29);
}

TEST(SparseRead, of_av1_in_any_order_gives_the_frames_of_a_whole_decode) {
    const auto path = clip("s.layers.mp4", kLayered);
    const auto video = testing::ffmpeg_bytes(path);
    std::mt19937 random(11);
    for (int i = 0; i < 8; ++i) {
        auto reader = open(path, 1 + i % 2);
        for (int j = 0; j < 8; ++j) {  // decoders continue, or begin again, from where they left pictures out
            std::vector<std::int64_t> wanted(1 + random() % 5);
            for (auto& frame : wanted) frame = random() % 50;
            expect_frames(reader, wanted, video);
        }
    }
}

TEST(SparseRead, of_av1_goes_on_where_nothing_is_missing) {
    const auto path = clip("s.layers.mp4", kLayered);
    auto reader = open(path);

    (void)reader.frames(std::vector<std::int64_t>{0, 8, 16});
    const auto first = reader.video().pool().num_sent();
    (void)reader.frames(std::vector<std::int64_t>{24, 32, 40});

    EXPECT_LE(reader.video().pool().num_sent() - first, first + 2);
}

}  // namespace
}  // namespace tricodec
