// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "decode/decoder_records.h"
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

}  // namespace
}  // namespace tricodec
