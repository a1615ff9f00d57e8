// SPDX-License-Identifier: Apache-2.0
/// Frames that are numbered by the table of an MP4 file: Note [Listed packets].
#include <gtest/gtest.h>

#include "index/listed_index.h"
#include "media.h"
#include "read/frame_reader.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::packed;

FrameReaderImpl open(const MediaSource& source, IndexOrigin origin, int num_workers = 1) {
    FrameReaderOptions options;
    options.device = "cpu";
    options.num_workers = num_workers;
    options.index_origin = origin;
    return {source, options};
}

FrameReaderImpl open(const std::filesystem::path& path, IndexOrigin origin, int num_workers = 1) {
    return open(MediaSource::from_path(path), origin, num_workers);
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
    std::vector<std::int64_t> numbers;
    for (auto i = first; i < last; i += step) numbers.push_back(i);
    return numbers;
}

void expect_same_frames(FrameReader& reader, FrameReader& expected, const std::vector<std::int64_t>& numbers) {
    const auto frames = reader.frames(numbers);
    const auto others = expected.frames(numbers);
    ASSERT_EQ(frames.size(), others.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(packed(frames[i]), packed(others[i])) << numbers[i];
        EXPECT_EQ(frames[i].pts, others[i].pts) << numbers[i];
        EXPECT_EQ(frames[i].duration, others[i].duration) << numbers[i];
        EXPECT_EQ(frames[i].index, others[i].index) << numbers[i];
    }
}

struct ListedCase {
    const char* file;
    const char* arguments;
};

class ListedIndexOf : public ::testing::TestWithParam<ListedCase> {};

TEST_P(ListedIndexOf, is_the_index_of_the_packets) {
    const auto path = clip(GetParam().file, GetParam().arguments);
    auto listed = open(path, IndexOrigin::container);
    auto read = open(path, IndexOrigin::packets);
    ASSERT_TRUE(listed.video().index()->listed());

    EXPECT_EQ(listed.num_frames(), read.num_frames());
    EXPECT_EQ(listed.pts_seconds(), read.pts_seconds());
    EXPECT_EQ(listed.key_frames(), read.key_frames());
    // Every second frame: all GOPs are inspected, unless they have one frame.
    const auto index = listed.video().index_for(range(1, listed.num_frames(), 2));
    const bool one_frame = listed.key_frames().size() == static_cast<std::size_t>(listed.num_frames());
    ASSERT_TRUE(index->listed());
    const auto& expected = *read.video().index();
    ASSERT_EQ(index->num_packets(), expected.num_packets());
    for (std::int64_t k = 0; k < index->num_packets(); ++k) {
        const auto& one = index->packet(k);
        const auto& other = expected.packet(k);
        EXPECT_EQ(one.inspected, !one_frame) << k;
        EXPECT_EQ(one.pts, other.pts) << k;
        const bool has_dts = one.dts != kNoTimestamp;  // Matroska has none; libavformat derives them
        EXPECT_EQ(has_dts ? one.dts : other.dts, other.dts) << k;
        EXPECT_EQ(one.pos, other.pos) << k;
        EXPECT_EQ(one.size_bytes, other.size_bytes) << k;
        EXPECT_EQ(one.frame, other.frame) << k;
        EXPECT_EQ(one.entry, other.entry) << k;
        EXPECT_EQ(one.open_entry, other.open_entry) << k;
        EXPECT_EQ(one.non_reference, other.non_reference) << k;
        EXPECT_EQ(one.referenced_bytes, other.referenced_bytes) << k;
        EXPECT_EQ(one.slots, other.slots) << k;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Streams, ListedIndexOf,
    ::testing::Values(
        ListedCase{"l.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3"},
        ListedCase{"l.h264_negative.mp4",
                   "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3 -movflags negative_cts_offsets"},
        ListedCase{"l.h264_front.mov", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 10 -movflags +faststart"},
        ListedCase{"l.hevc.mp4",
                   "-pix_fmt yuv420p -c:v libx265 -preset veryfast -x265-params keyint=12:log-level=none"},
        ListedCase{"l.hevc_open.mp4",
                   "-pix_fmt yuv420p -c:v libx265 -preset veryfast -x265-params keyint=12:open-gop=1:log-level=none"},
        ListedCase{"l.hevc_layers.mp4",
                   "-pix_fmt yuv420p -c:v libx265 -preset veryfast -x265-params "
                   "keyint=16:temporal-layers=1:log-level=none"},
        ListedCase{"l.mpeg4.mp4", "-pix_fmt yuv420p -c:v mpeg4 -g 12 -bf 2"},
        ListedCase{"l.av1.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24"},
        ListedCase{"l.vp9.mp4", "-pix_fmt yuv420p -c:v libvpx-vp9 -cpu-used 8 -b:v 300k -g 20"},
        ListedCase{"l.mjpeg.mov", "-pix_fmt yuvj420p -c:v mjpeg"},
        ListedCase{"l.fragments.mp4",
                   "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -movflags +frag_keyframe+empty_moov"},
        ListedCase{"l.h264.mkv", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12"}),
    testing::name_of_file);

TEST(ListedIndex, is_refused_where_the_table_leaves_doubt) {
    const ListedCase cases[] = {
        {"l.fields.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -flags +ilme+ildct -x264opts tff"},
        {"l.h264.ts", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -f mpegts"},
    };
    for (const auto& [file, arguments] : cases) {
        auto reader = open(clip(file, arguments), IndexOrigin::container);
        EXPECT_EQ(reader.num_frames(), 50) << file;
        EXPECT_FALSE(reader.video().index()->listed()) << file;
    }
}

TEST(ListedIndex, packets_that_contradict_the_table_make_the_reader_read_all) {
    const auto path = clip("l.contradiction.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 10 -bf 2");
    auto bytes = std::make_shared<std::vector<std::byte>>(testing::read_file(path));
    {
        auto whole = open(path, IndexOrigin::packets);
        const auto& packet = whole.video().index()->packet(23);
        std::fill_n(bytes->begin() + packet.pos, packet.size_bytes, std::byte{0});
    }
    const auto damaged = MediaSource::from_bytes(*bytes, bytes);
    auto read = open(damaged, IndexOrigin::packets);
    auto listed = open(damaged, IndexOrigin::container);
    ASSERT_TRUE(listed.video().index()->listed());
    EXPECT_EQ(packed(listed.frame(5)), packed(read.frame(5)));
    EXPECT_TRUE(listed.video().index()->listed());

    const auto numbers = range(20, read.num_frames(), 2);
    expect_same_frames(listed, read, numbers);

    EXPECT_FALSE(listed.video().index()->listed());
    EXPECT_EQ(listed.num_frames(), read.num_frames());
    EXPECT_EQ(listed.num_damaged_packets(), read.num_damaged_packets());
}

}  // namespace
}  // namespace tricodec
