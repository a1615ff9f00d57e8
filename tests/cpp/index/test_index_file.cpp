// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "index/index_file.h"
#include "media.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

Digest::Value digest_of(std::string_view text) {
    Digest digest;
    digest.add(text);
    return digest.finish();
}

/// The file's own checksum made right again, as an attacker would.
void sign(std::vector<std::byte>& bytes) {
    Digest digest;
    digest.add(std::span<const std::byte>(bytes).first(bytes.size() - 32));
    const auto value = digest.finish();
    std::copy(value.begin(), value.end(), bytes.end() - 32);
}

StreamIndex index_of(const std::filesystem::path& path) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(path));
    StreamIndexBuilder builder(demuxer->stream());
    while (const auto packet = demuxer->read()) builder.add(*packet);
    return builder.make();
}

TEST(IndexFile, holds_what_av1_pictures_refer_to) {
    const auto index = index_of(testing::clip("index.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24"));
    const auto source = digest_of("source");

    const auto again = deserialize(serialize(index, source), source);

    ASSERT_EQ(again.num_packets(), index.num_packets());
    for (std::int64_t k = 0; k < index.num_packets(); ++k) {
        ASSERT_TRUE(again.packet(k).slots) << k;
        EXPECT_EQ(again.packet(k).slots, index.packet(k).slots) << k;
        EXPECT_EQ(again.packet(k).referenced_bytes, index.packet(k).referenced_bytes) << k;
    }
}

TEST(IndexFile, holds_what_only_decoding_told) {
    StreamIndex::Contents contents;
    for (std::int64_t k = 0; k < 4; ++k) contents.packets.push_back({kNoTimestamp, kNoTimestamp, k * 10, 0, 10});
    contents.packets[0].entry = true;
    contents.frames = {{0, kNoTimestamp, 0}, {2, kNoTimestamp, 0}, {1, kNoTimestamp, 0}, {3, kNoTimestamp, 0}};
    contents.scanned = true;
    contents.uncertain = true;
    const auto source = digest_of("source");
    const auto again = deserialize(serialize(StreamIndex::from_contents(contents), source), source);
    EXPECT_TRUE(again.scanned());
    ASSERT_EQ(again.num_frames(), 4);
    EXPECT_EQ(again.frame(1).packet, 2);
}

TEST(IndexFile, holds_packets_that_only_a_table_told) {
    StreamIndex::Contents contents;
    for (std::int64_t k = 0; k < 4; ++k) {
        contents.packets.push_back({.pts = k, .dts = k, .pos = 100 + k * 10, .size_bytes = 10, .entry = k % 2 == 0});
        contents.packets.back().inspected = k == 1;
    }
    const FrameIndex index(std::make_shared<const StreamIndex>(StreamIndex::from_contents(contents)),
                           digest_of("source"));

    const auto again = frame_index_of(to_bytes(index));

    EXPECT_EQ(again->source(), index.source());
    EXPECT_TRUE(again->index()->listed());
    for (std::int64_t k = 0; k < 4; ++k) EXPECT_EQ(again->index()->packet(k).inspected, k == 1) << k;
    const auto gops = again->index()->gops();
    ASSERT_EQ(gops.size(), 2U);
    EXPECT_EQ(gops[1].first_frame, 2);
    EXPECT_EQ(gops[1].num_frames, 2);
    EXPECT_EQ(gops[1].offset, 120);
    EXPECT_EQ(gops[1].size_bytes, 20);
}

TEST(IndexFile, holds_extreme_time_stamps) {
    constexpr auto kLow = std::numeric_limits<std::int64_t>::min() + 1;
    constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
    StreamIndex::Contents contents;
    contents.packets.push_back({kLow, kHigh, 0, kHigh, 1, -1, true});
    contents.packets.push_back({kHigh, kLow, kHigh, kLow, 1});
    contents.packets.push_back({kNoTimestamp, kNoTimestamp, -1, 0, 1});
    const auto source = digest_of("source");
    const auto again = deserialize(serialize(StreamIndex::from_contents(contents), source), source);
    for (std::int64_t k = 0; k < 3; ++k) {
        EXPECT_EQ(again.packet(k).pts, contents.packets[static_cast<std::size_t>(k)].pts);
        EXPECT_EQ(again.packet(k).dts, contents.packets[static_cast<std::size_t>(k)].dts);
        EXPECT_EQ(again.packet(k).duration, contents.packets[static_cast<std::size_t>(k)].duration);
    }
}

TEST(IndexFile, takes_no_memory_for_packets_it_does_not_hold) {
    const auto source = digest_of("source");
    auto bytes = serialize(StreamIndex::from_contents({}), source);
    // flags, then the count of packets: a billion of them in a file of a few bytes
    bytes.resize(bytes.size() - 32 - 1);
    for (const int digit : {0x80, 0x94, 0xeb, 0xdc, 0x03}) bytes.push_back(static_cast<std::byte>(digit));
    bytes.resize(bytes.size() + 32);
    sign(bytes);
    EXPECT_THROW((void)deserialize(bytes, source), Error);
}

}  // namespace
}  // namespace tricodec
