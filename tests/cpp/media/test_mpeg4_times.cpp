// SPDX-License-Identifier: Apache-2.0
/// Whether MPEG-4's pictures fit the header of their layer, as libavcodec decides it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "media.h"
#include "media/mpeg4_times.h"
#include "media/stream_info.h"
#include "tricodec/media/demuxer.h"

namespace tricodec {
namespace {

std::unique_ptr<Demuxer> opened(const std::string& name) {
    return Demuxer::open(MediaSource::from_path(testing::clip(name, "-pix_fmt yuv420p -c:v mpeg4 -g 12 -bf 2")), {});
}

/// The stream's headers, as bytes that may be changed.
std::vector<std::byte> headers_of(const Demuxer& demuxer) {
    const auto headers = extradata_of(demuxer.stream().parameters.get());
    return {headers.begin(), headers.end()};
}

/// Bits from the end of VOL's start code to vop_time_increment_resolution, which has 16, as libavcodec writes them:
/// random_accessible_vol, type, version and priority, aspect, vol_control_parameters without vbv, shape, a marker.
constexpr std::size_t kResolutionAtBit = 1 + 8 + (1 + 4 + 3) + 4 + (1 + 2 + 1 + 1) + 2 + 1;

void set_resolution(std::vector<std::byte>& headers, unsigned resolution) {
    const std::byte start[] = {std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0x20}};
    const auto found = std::ranges::search(headers, start);
    ASSERT_FALSE(found.empty());
    const auto first = static_cast<std::size_t>(found.end() - headers.begin()) * 8 + kResolutionAtBit;
    for (std::size_t i = 0; i < 16; ++i) {
        auto& byte = headers.at((first + i) / 8);
        const auto bit = std::byte{static_cast<unsigned char>(0x80U >> (first + i) % 8)};
        byte = (resolution >> (15 - i) & 1U) != 0 ? byte | bit : byte & ~bit;
    }
}

class Mpeg4TimesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(Mpeg4TimesOf, fit_in_an_undamaged_stream) {
    auto demuxer = opened(std::string("times.") + GetParam());
    Mpeg4Times times(headers_of(*demuxer));
    int num_packets = 0;
    for (; const auto packet = demuxer->read(); ++num_packets) EXPECT_TRUE(times.fit(packet->data)) << num_packets;
    EXPECT_GT(num_packets, 12);
}

INSTANTIATE_TEST_SUITE_P(Containers, Mpeg4TimesOf, ::testing::Values("mp4", "avi", "mkv", "m4v"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(Mpeg4Times, tell_of_fields) {
    const auto path = testing::clip("fields.avi", "-pix_fmt yuv420p -c:v mpeg4 -flags +ilme+ildct");

    EXPECT_TRUE(is_decoded_by_one_thread(Demuxer::open(MediaSource::from_path(path), {})->stream()));
    EXPECT_FALSE(is_decoded_by_one_thread(opened("times.avi")->stream()));
}

TEST(Mpeg4Times, do_not_fit_a_header_of_another_length_of_times) {
    auto demuxer = opened("times.mp4");
    auto headers = headers_of(*demuxer);
    ASSERT_NO_FATAL_FAILURE(set_resolution(headers, 0xffff));
    Mpeg4Times times(headers);
    int num_packets = 0;
    int num_misfits = 0;
    for (; const auto packet = demuxer->read(); ++num_packets) num_misfits += times.fit(packet->data) ? 0 : 1;

    EXPECT_GT(num_misfits, num_packets / 4);  // half of them have the marker's bit by chance
}

TEST(Mpeg4Times, do_not_fit_without_a_header_until_one_comes) {
    auto demuxer = opened("times.mp4");
    const auto headers = headers_of(*demuxer);
    const auto packet = demuxer->read();
    ASSERT_TRUE(packet);
    std::vector<std::byte> whole(headers);
    whole.insert(whole.end(), packet->data.begin(), packet->data.end());
    Mpeg4Times times({});

    EXPECT_FALSE(times.fit(packet->data));
    EXPECT_TRUE(times.fit(whole));
    EXPECT_TRUE(times.fit(packet->data));
    times.reset();
    EXPECT_FALSE(times.fit(packet->data));
}

}  // namespace
}  // namespace tricodec
