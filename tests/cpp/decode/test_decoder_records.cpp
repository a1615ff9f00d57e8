// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decode/decoder_records.h"
#include "media.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

constexpr auto kMost = static_cast<std::int64_t>(kMostIssues);

DecodeIssue issue_of(std::int64_t packet) {
    return {.message = "it is damaged", .tag = packet};
}

std::vector<std::int64_t> packet_numbers(const std::vector<DecodeIssue>& issues) {
    std::vector<std::int64_t> numbers;
    for (const auto& issue : issues) numbers.push_back(issue.packet_number);
    return numbers;
}

TEST(StreamIssues, tell_packets_without_time_stamps_apart_and_count_each_once) {
    StreamIssues issues;

    for (const std::int64_t packet : {7, 3, 7, 5, 3}) issues.add(issue_of(packet));

    EXPECT_EQ(issues.num_packets(), 3);
    EXPECT_EQ(packet_numbers(issues.sorted()), (std::vector<std::int64_t>{3, 5, 7}));
}

TEST(Decoder, keeps_its_latest_reports_and_counts_all_of_them) {
    const auto decoder = Decoder::create(CodecId::h264, {.device = "cpu", .num_threads = 1});
    const auto no_picture = Packet::copy(std::vector<std::byte>(8, std::byte{0x55}));

    for (std::int64_t i = 0; i < kMost + 20; ++i) {
        if (i == kMost) decoder->reset();
        (void)decoder->decode(no_picture, i);
    }

    EXPECT_EQ(decoder->num_issues(), kMost + 20);
    EXPECT_EQ(decoder->issues().size(), kMostIssues);
    EXPECT_EQ(decoder->issues().front().tag, 20);
    EXPECT_EQ(decoder->issues().back().tag, kMost + 19);
    EXPECT_EQ(decoder->issues().back().packet_number, 19);
    std::int64_t num_known = kMost + 15;
    EXPECT_EQ(new_damage(*decoder, false, num_known).front().tag, kMost + 15);
    EXPECT_EQ(num_known, kMost + 20);
    EXPECT_TRUE(new_damage(*decoder, false, num_known).empty());
}

/// H.264 without a container, every picture of which stands alone; the slices of those named begin with nonsense.
std::filesystem::path stream_with_damaged(const std::vector<std::size_t>& pictures) {
    auto bytes = testing::read_file(
        testing::clip("intra.h264", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 1 -f h264", 20));
    std::vector<std::size_t> slices;
    for (std::size_t i = 0; i + 12 < bytes.size(); ++i) {
        const bool starts = bytes[i] == std::byte{0} && bytes[i + 1] == std::byte{0} && bytes[i + 2] == std::byte{1};
        if (starts && (bytes[i + 3] & std::byte{31}) == std::byte{5}) slices.push_back(i + 4);
    }
    for (const auto picture : pictures) {
        for (std::size_t i = 0; i < 8; ++i) bytes[slices.at(picture) + i] = std::byte{0xff};
    }
    return testing::write_file("intra_damaged.h264", bytes);
}

class ReportsOfAReader : public ::testing::TestWithParam<bool> {};

TEST_P(ReportsOfAReader, are_one_for_each_damaged_packet_of_a_stream_without_time_stamps) {
    const auto reader = FrameReader::open(MediaSource::from_path(stream_with_damaged({3, 7, 8, 15})),
                                          {.device = "cpu", .num_workers = 1});

    if (GetParam()) {
        const auto frames = reader->iterate({});
        while (frames->next()) {
        }
    } else {
        for (std::int64_t i = reader->num_frames(); i-- > 0;) (void)reader->frame(i);
    }

    EXPECT_EQ(reader->num_damaged_packets(), 4);
    EXPECT_EQ(packet_numbers(reader->issues()), (std::vector<std::int64_t>{3, 7, 8, 15}));
    for (const auto& issue : reader->issues()) EXPECT_EQ(issue.pts, kNoTimestamp);
}

INSTANTIATE_TEST_SUITE_P(Paths, ReportsOfAReader, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "in_order" : "backwards"; });

}  // namespace
}  // namespace tricodec
