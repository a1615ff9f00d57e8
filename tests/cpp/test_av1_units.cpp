// SPDX-License-Identifier: Apache-2.0
/// What AV1's units say of their pictures, as FFmpeg's own parser (trace_headers) reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "media.h"
#include "media/packet_inspector.h"
#include "tricodec/demuxer.h"

namespace tricodec {
namespace {

struct Unit {
    int num_pictures = 0;  // with a header of their own
    int num_shown_unreferenced = 0;
};

/// By packet. A picture's refresh_frame_flags come after its show_frame; key frames that are shown have none.
std::vector<Unit> traced(const std::filesystem::path& path) {
    const auto log = path.string() + ".trace";
    const auto command = "ffmpeg -nostdin -v trace -i '" + path.string() +
                         "' -c copy -bsf:v trace_headers -f null - 2>&1 | "
                         "grep -aE 'Packet: [0-9]+ bytes| (show_frame|refresh_frame_flags) ' >'" +
                         log + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream lines(log);
    std::vector<Unit> units;
    bool shown = false;
    for (std::string line; std::getline(lines, line);) {
        const auto value = line.empty() ? ' ' : line.back();
        if (line.find("Packet:") != std::string::npos) {
            units.emplace_back();
        } else if (units.empty()) {
            continue;
        } else if (line.find(" show_frame ") != std::string::npos) {
            shown = value == '1';
            ++units.back().num_pictures;
        } else if (shown && line.find("= 0") != std::string::npos) {
            ++units.back().num_shown_unreferenced;
        }
    }
    return units;
}

class Av1UnitsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(Av1UnitsOf, are_read_as_ffmpeg_reads_them) {
    const auto path =
        testing::clip(std::string("units.") + GetParam(), "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24");
    const auto expected = traced(path);
    auto demuxer = Demuxer::open(MediaSource::from_path(path), {});
    PacketInspector inspector(demuxer->stream());
    std::size_t k = 0;
    int num_alone = 0;
    int num_after_others = 0;

    for (; const auto packet = demuxer->read(); ++k) {
        ASSERT_LT(k, expected.size());
        const auto facts = inspector.inspect(*packet);
        const bool unreferenced = expected[k].num_shown_unreferenced == 1 && !packet->key;
        EXPECT_EQ(facts.non_reference, unreferenced && expected[k].num_pictures == 1) << k;
        EXPECT_EQ(facts.referenced_bytes > 0, unreferenced && expected[k].num_pictures > 1) << k;
        EXPECT_LT(facts.referenced_bytes, packet->data.size()) << k;
        num_alone += facts.non_reference ? 1 : 0;
        num_after_others += facts.referenced_bytes > 0 ? 1 : 0;
    }

    EXPECT_EQ(k, expected.size());
    EXPECT_GT(num_alone, 0);
    EXPECT_GT(num_after_others, 0);
}

INSTANTIATE_TEST_SUITE_P(Containers, Av1UnitsOf, ::testing::Values("mp4", "mkv", "ivf", "obu"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(Av1Units, that_are_broken_are_needed_whole) {
    const auto path = testing::clip("units.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24");
    auto demuxer = Demuxer::open(MediaSource::from_path(path), {});
    Av1Units units({});
    while (const auto packet = demuxer->read()) {
        for (std::size_t size = 1; size < std::min<std::size_t>(packet->data.size(), 64); ++size) {
            EXPECT_LE(units.referenced_bytes(packet->data.first(size)), size);
        }
        std::vector<std::byte> turned(packet->data.begin(), packet->data.end());
        for (std::size_t i = 0; i < turned.size() && i < 40; ++i) {
            turned[i] ^= std::byte{0x55};
            EXPECT_LE(units.referenced_bytes(turned), turned.size());
            turned[i] ^= std::byte{0x55};
        }
    }
}

TEST(Av1Units, without_a_sequence_header_are_needed_whole) {
    // A frame OBU with a size: its header cannot be read without the sequence's.
    const std::byte unit[] = {std::byte{0x32}, std::byte{2}, std::byte{0x30}, std::byte{0}};

    EXPECT_EQ(Av1Units({}).referenced_bytes(unit), sizeof(unit));
}

}  // namespace
}  // namespace tricodec
