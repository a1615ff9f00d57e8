// SPDX-License-Identifier: Apache-2.0
/// What AV1's units say of their pictures, as FFmpeg's own parser (trace_headers) reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "bitstream/nal.h"
#include "bitstream/packet_inspector.h"
#include "media.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

struct Unit {
    int num_pictures = 0;  // with a header of their own
    int num_shown_unreferenced = 0;
    SlotUse slots;
};

/// Follows the trace of one stream line by line.
class Trace {
public:
    void packet() { units_.emplace_back(); }

    void field(const std::string& name, unsigned value) {
        if (units_.empty()) return;
        auto& unit = units_.back();
        if (name == "show_existing_frame") {
            filled_before_ = unit.slots.writes;
        } else if (name == "frame_to_show_map_idx") {
            read(value);
            if (slot_types_.at(value) == kKey) fill(0xff, kKey);
        } else if (name == "frame_type") {
            type_ = value;
        } else if (name == "show_frame") {
            shown_ = value == 1;
            ++unit.num_pictures;
            if (shown_ && type_ == kKey) fill(0xff, kKey);  // has no refresh_frame_flags
        } else if (name == "refresh_frame_flags") {
            if (shown_ && value == 0) ++unit.num_shown_unreferenced;
            fill(value, type_);
        } else {
            read(value);
        }
    }

    [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

private:
    static constexpr unsigned kKey = 0;

    void read(unsigned slot) {
        units_.back().slots.reads |= static_cast<std::uint8_t>((1U << slot) & ~unsigned{filled_before_});
    }
    void fill(unsigned slots, unsigned type) {
        units_.back().slots.writes |= static_cast<std::uint8_t>(slots);
        for (std::size_t i = 0; i < slot_types_.size(); ++i) {
            if ((slots >> i & 1) != 0) slot_types_[i] = type;
        }
    }

    std::vector<Unit> units_;
    std::array<unsigned, 8> slot_types_{};
    std::uint8_t filled_before_ = 0;  // slots, by earlier pictures of the unit
    unsigned type_ = 0;
    bool shown_ = false;
};

/// By packet.
std::vector<Unit> traced(const std::filesystem::path& path) {
    const auto log = path.string() + ".trace";
    const auto command = "ffmpeg -nostdin -v trace -i '" + path.string() +
                         "' -c copy -bsf:v trace_headers -f null - 2>&1 | grep -aoE 'Packet: [0-9]+ bytes|"
                         "(show_existing_frame|frame_to_show_map_idx|frame_type|show_frame|refresh_frame_flags|"
                         "ref_frame_idx.[0-9].) .*= [0-9]+$' >'" +
                         log + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream lines(log);
    Trace trace;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("Packet:")) {
            trace.packet();
        } else {
            trace.field(line.substr(0, line.find_first_of(" [")),
                        static_cast<unsigned>(std::stoul(line.substr(line.rfind('=') + 1))));
        }
    }
    return trace.units();
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
        ASSERT_TRUE(facts.slots) << k;
        EXPECT_EQ(*facts.slots, expected[k].slots) << k;
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
            EXPECT_LE(units.inspect(packet->data.first(size)).referenced_bytes, size);
        }
        std::vector<std::byte> turned(packet->data.begin(), packet->data.end());
        for (std::size_t i = 0; i < turned.size() && i < 40; ++i) {
            turned[i] ^= std::byte{0x55};
            EXPECT_LE(units.inspect(turned).referenced_bytes, turned.size());
            turned[i] ^= std::byte{0x55};
        }
    }
}

/// Visits units of one OBU, which holds a picture that is shown, with what is known after them. Returns their number.
int for_each_lone_frame(const std::function<void(const Av1Units&, std::vector<std::byte>)>& visit) {
    constexpr std::byte kFrame{0x32};  // with a size
    const auto path = testing::clip("units.mp4", "-pix_fmt yuv420p -c:v libsvtav1 -preset 10 -g 24");
    auto demuxer = Demuxer::open(MediaSource::from_path(path), {});
    Av1Units units({});
    int num_visited = 0;
    while (const auto packet = demuxer->read()) {
        std::vector<std::byte> unit(packet->data.begin(), packet->data.end());
        const auto whole = units.inspect(unit);
        const auto length = read_leb128(packet->data.subspan(1));
        const bool is_alone = length && 1 + length->num_bytes + length->value == unit.size();
        if (unit.front() != kFrame || !is_alone || !whole.shows_one) continue;
        visit(units, std::move(unit));
        ++num_visited;
    }
    return num_visited;
}

TEST(Av1Units, with_a_header_but_no_tiles_show_no_picture_and_may_keep_all_slots) {
    constexpr std::byte kFrameHeader{0x1a}, kTileGroup{0x22};  // each with a size
    const int num_tried = for_each_lone_frame([&](const Av1Units& units, std::vector<std::byte> unit) {
        const auto size_bytes = unit.size();
        unit.front() = kFrameHeader;

        auto alone = units;
        const auto facts = alone.inspect(unit);
        unit.insert(unit.end(), {kTileGroup, std::byte{1}, std::byte{0}});
        auto followed = units;

        EXPECT_FALSE(facts.shows_one);
        EXPECT_FALSE(facts.slots);
        EXPECT_FALSE(facts.key);
        EXPECT_EQ(facts.referenced_bytes, size_bytes);
        EXPECT_TRUE(followed.inspect(unit).shows_one);
    });
    EXPECT_GT(num_tried, 0);
}

TEST(Av1Units, count_a_redundant_header_as_a_picture_if_it_is_no_copy) {
    constexpr std::byte kFrameHeader{0x1a}, kTileGroup{0x22}, kRedundant{0x3a};  // each with a size
    const int num_tried = for_each_lone_frame([&](const Av1Units& units, std::vector<std::byte> unit) {
        auto with_copy = unit;
        with_copy.front() = kFrameHeader;
        const auto header = with_copy;
        with_copy.insert(with_copy.end(), {kTileGroup, std::byte{1}, std::byte{0}});
        with_copy.insert(with_copy.end(), header.begin(), header.end());
        with_copy[header.size() + 3] = kRedundant;
        with_copy.insert(with_copy.end(), {kTileGroup, std::byte{1}, std::byte{0}});
        auto with_other = unit;
        with_other.insert(with_other.end(), {kRedundant, std::byte{1}, std::byte{0x98}});  // shows slot 1 again

        EXPECT_TRUE(Av1Units(units).inspect(with_copy).shows_one);
        EXPECT_FALSE(Av1Units(units).inspect(with_other).shows_one);
    });
    EXPECT_GT(num_tried, 0);
}

TEST(Av1Units, without_a_sequence_header_are_needed_whole) {
    // A frame OBU with a size: its header cannot be read without the sequence's.
    const std::byte unit[] = {std::byte{0x32}, std::byte{2}, std::byte{0x30}, std::byte{0}};

    const auto facts = Av1Units({}).inspect(unit);

    EXPECT_EQ(facts.referenced_bytes, sizeof(unit));
    EXPECT_FALSE(facts.slots);
}

}  // namespace
}  // namespace tricodec
