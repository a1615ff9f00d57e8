// SPDX-License-Identifier: Apache-2.0
/// A container's packets tell which frames there are: an index costs no decoding.
#include <gtest/gtest.h>

#include <mutex>

#include "media.h"
#include "read/frame_reader.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

constexpr const char* kH264 = "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 2";
constexpr const char* kHevc = "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=12";
constexpr const char* kAv1 = "-pix_fmt yuv420p -c:v libsvtav1 -preset 12 -g 24";
constexpr const char* kVp9 = "-pix_fmt yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12";

struct Case {
    const char* name;
    const char* arguments;
};

/// What the library says while it lives.
class Messages {
public:
    Messages() : level_(log_level()) {
        set_log_level(LogLevel::info);
        set_log_sink([this](LogLevel, std::string_view message) {
            std::lock_guard lock(mutex_);
            text_ += message;
        });
    }
    ~Messages() {
        set_log_sink(nullptr);
        set_log_level(level_);
    }
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;
    [[nodiscard]] bool tell_of_a_scan() const { return text_.find("numbering the frames") != std::string::npos; }

private:
    LogLevel level_;
    std::mutex mutex_;
    std::string text_;
};

class IndexOf : public ::testing::TestWithParam<Case> {};

TEST_P(IndexOf, a_sound_file_is_made_of_its_packets_alone) {
    const auto path = testing::clip(GetParam().name, GetParam().arguments);
    FrameReaderOptions options;
    options.device = "cpu";
    const Messages messages;
    FrameReaderImpl reader(MediaSource::from_path(path), options);

    EXPECT_EQ(reader.num_frames(), 50);
    EXPECT_EQ(reader.frame(33).index, 33);
    EXPECT_EQ(reader.frame(7).index, 7);

    EXPECT_TRUE(reader.video().index()->numbered());
    EXPECT_FALSE(reader.video().index()->scanned());
    EXPECT_FALSE(messages.tell_of_a_scan());
    EXPECT_TRUE(reader.issues().empty());
}

INSTANTIATE_TEST_SUITE_P(Containers, IndexOf,
                         ::testing::Values(Case{"packets_h264.mp4", kH264}, Case{"packets_h264.mkv", kH264},
                                           Case{"packets_h264.ts", kH264}, Case{"packets_hevc.mp4", kHevc},
                                           Case{"packets_hevc.mkv", kHevc}, Case{"packets_hevc.ts", kHevc},
                                           Case{"packets_av1.mp4", kAv1}, Case{"packets_av1.mkv", kAv1},
                                           Case{"packets_av1.webm", kAv1}, Case{"packets_vp9.mp4", kVp9},
                                           Case{"packets_vp9.mkv", kVp9}, Case{"packets_vp9.webm", kVp9}),
                         testing::name_of_file);

TEST(IndexOfABareStream, takes_decoding_and_says_so) {
    const auto path = testing::clip("packets.h264", kH264);
    FrameReaderOptions options;
    options.device = "cpu";
    const Messages messages;
    FrameReaderImpl reader(MediaSource::from_path(path), options);

    EXPECT_EQ(reader.num_frames(), 50);

    EXPECT_TRUE(reader.video().index()->scanned());
    EXPECT_TRUE(messages.tell_of_a_scan());
}

}  // namespace
}  // namespace tricodec
