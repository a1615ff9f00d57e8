// SPDX-License-Identifier: Apache-2.0
/// Which readers use the threads of a codec that decodes frames in order.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "media.h"
#include "read/frame_reader.h"

namespace tricodec {
namespace {

constexpr const char* kH264 = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast";

std::unique_ptr<FrameReader> reader_of(const std::filesystem::path& path) {
    return FrameReader::open(MediaSource::from_path(path), {.device = "cpu", .num_workers = 4});
}

/// All frames in order, by one codec with threads.
std::vector<std::byte> decoded(const std::filesystem::path& path) {
    const auto reader = reader_of(path);
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < reader->num_frames(); ++i) {
        const auto frame = testing::packed(reader->frame(i));
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    return bytes;
}

/// A clip with headers that no other test has.
std::filesystem::path small_clip(const std::string& name, const std::string& arguments) {
    return testing::clip(name, std::string(kH264) + " -g 60 -bf 2 " + arguments, 24, "176x144");
}

auto num_threads_of_process() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(CodecThreads, of_a_closed_reader_decode_the_next_file_with_the_same_headers) {
    const auto path = small_clip("kept.mp4", "-x264-params level=31");
    const auto expected = testing::ffmpeg_bytes(path);
    EXPECT_EQ(decoded(path), expected);
    const auto before = num_threads_of_process();
    const auto reader = reader_of(path);
    for (int i = 0; i < 3; ++i) (void)reader->frame(i);
    EXPECT_EQ(num_threads_of_process(), before);
    EXPECT_EQ(decoded(path), expected);  // beside it
    EXPECT_EQ(num_threads_of_process(), before + 4);
}

TEST(CodecThreads, decode_no_file_with_other_headers) {
    const auto cabac = small_clip("kept_cabac.mp4", "-x264-params level=32:cabac=1");
    const auto cavlc = small_clip("kept_cavlc.mp4", "-x264-params level=32:cabac=0");
    for (const auto& path : {cabac, cavlc, cabac, cavlc}) EXPECT_EQ(decoded(path), testing::ffmpeg_bytes(path));
}

TEST(CodecThreads, end_with_a_reader_of_packets_that_bring_other_headers) {
    auto bytes = testing::read_file(small_clip("kept_repeated.mp4", "-x264-params level=42 -bsf:v dump_extra"));
    const auto sps = std::ranges::find(bytes, std::byte{0x67});  // of the first packet; the moov box comes last
    *(sps + 2) ^= std::byte{0x08};                               // constraint_set4_flag, which says nothing here
    const auto before = num_threads_of_process();
    EXPECT_FALSE(decoded(testing::write_file("kept_repeated_copy.mp4", bytes)).empty());
    EXPECT_EQ(num_threads_of_process(), before);
}

TEST(CodecThreads, of_a_closed_reader_show_nothing_of_its_video_in_a_damaged_one) {
    auto bytes = testing::read_file(small_clip("kept_damaged.mp4", "-x264-params level=40"));
    for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 300; ++at) bytes[at] = std::byte{0x5A};
    const auto damaged = testing::write_file("kept_damaged_copy.mp4", bytes);
    const auto first = decoded(damaged);
    const auto before = num_threads_of_process();
    (void)decoded(small_clip("kept_damaged.mp4", "-x264-params level=40"));
    EXPECT_EQ(num_threads_of_process(), before + 4);
    EXPECT_EQ(decoded(damaged), first);
}

TEST(CodecThreads, of_a_closed_reader_stay_in_the_parent_of_a_forked_process) {
    const auto path = small_clip("kept_forked.mp4", "-x264-params level=41");
    const auto expected = decoded(path);
    const pid_t child = fork();
    if (child == 0) _exit(decoded(path) == expected && decoded(path) == expected ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tricodec
