// SPDX-License-Identifier: Apache-2.0
/// NVDEC against libavcodec, frame by frame: whole clips, parts, sizes, damage. TRICODEC_GPU_CLIPS may name a folder of
/// more clips.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>

#include "decode/engines.h"
#include "decode/nvdec/session.h"
#include "gpu/nvdec_testing.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

using namespace testing;

TEST(Nvdec, every_clip_of_the_folder_gives_the_frames_that_libavcodec_gives) {
    const char* folder = std::getenv("TRICODEC_GPU_CLIPS");
    if (folder == nullptr) GTEST_SKIP() << "TRICODEC_GPU_CLIPS names no folder (tools/gpu_check.sh --clips)";
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    ASSERT_FALSE(paths.empty()) << folder << " has no files";
    for (const auto& path : paths) {
        try {
            const auto stream = open(path)->stream();
            const auto result = compare(path);
            std::printf("%-40s %-10s %5zu %-16s %s%s%s\n", path.filename().c_str(), stream.codec_name.c_str(),
                        result.num_frames, std::string(to_string(result.format)).c_str(),
                        result.damaged ? "damaged: " : "",
                        result.refusal.empty() ? "" : ("CPU: " + result.refusal).c_str(), result.difference.c_str());
            if (nvdec::doubt(stream.codec).empty() && !result.damaged) {
                EXPECT_EQ(result.difference, "") << path;
            }
        } catch (const Error& error) {
            // Files that are no video, and what only decoding shows that NVDEC cannot do.
            std::printf("%-40s %s\n", path.filename().c_str(), error.what());
            EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::corrupt_data) << path;
        }
    }
}

TEST(Nvdec, a_stream_that_begins_at_an_open_group_gives_the_frames_that_libavcodec_gives) {
    const auto h264 =
        clip("g.h264.open.mkv", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3 -x264-params open-gop=1:b-pyramid=normal",
             30, "322x242");
    const auto hevc =
        clip("g.hevc.mp4", "-pix_fmt yuv420p -c:v libx265 -preset fast -x265-params keyint=12:pools=1:log-level=none",
             30, "322x242");
    for (const auto& path : {h264, hevc}) {
        const auto stream = open(path)->stream();
        auto packets = packets_of(path);
        const auto second =
            std::find_if(packets.begin() + 1, packets.end(), [](const Packet& packet) { return packet.key; });
        packets.erase(packets.begin(), second);
        const auto gpu = decode(packets, *make_nv_decoder(stream, kGpu));
        const auto cpu = decode(packets, *Decoder::create(stream, {"cpu", 1}));
        EXPECT_EQ(difference(cpu, gpu), "") << path;
    }
}

TEST(Nvdec, sessions_are_reused_for_streams_of_the_same_and_of_smaller_size) {
    const auto large = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    const auto small = clip("g.h264.small.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "162x98");
    nvdec::drop_idle_sessions();
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(small).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
}

}  // namespace
}  // namespace tricodec
