// SPDX-License-Identifier: Apache-2.0
/// What a GPU is described as, and FrameReader on it against FrameReader on the CPU.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "media.h"
#include "tricodec/base/gpu.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::packed;

std::unique_ptr<FrameReader> open(const std::filesystem::path& path, const std::string& device) {
    FrameReaderOptions options;
    options.device = device;
    return FrameReader::open(MediaSource::from_path(path), options);
}

TEST(ReadersOnGpu, give_the_same_frames_where_decoders_go_on_from_group_to_group) {
    constexpr int kReads = 20;  // more than a GPU has engines, and turns
    const auto path = clip("gpu.open10.mp4",
                           "-pix_fmt yuv420p -c:v libx265 -preset veryfast -x265-params "
                           "keyint=10:min-keyint=10:scenecut=0:open-gop=1:bframes=3:log-level=error",
                           150, "322x242");
    std::vector<std::vector<std::byte>> expected;
    const auto on_cpu = open(path, "cpu");
    const auto in_order = on_cpu->iterate({});
    while (const auto frame = in_order->next()) {
        expected.push_back(packed(convert_layout(*frame, PixelFormat::nv12)));
    }
    ASSERT_EQ(expected.size(), 150U);

    std::atomic<int> same{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < kReads; ++t) {
        threads.emplace_back([&] {
            const auto reader = open(path, "cuda");
            const auto frames = reader->iterate({});
            std::size_t i = 0;
            while (const auto frame = frames->next()) {
                if (i < expected.size() && packed(*frame) == expected[i++]) ++same;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(same, kReads * 150);
}

TEST(Gpu, is_there_and_described) {
    EXPECT_EQ(gpu_unusable_reason(0), "");
    const auto all = gpus();
    ASSERT_FALSE(all.empty());
    EXPECT_FALSE(all[0].name.empty());
    EXPECT_GE(all[0].compute_major, 7);
    EXPECT_GT(all[0].total_memory_bytes, std::size_t{1} << 30);
    EXPECT_GE(cuda_driver_version(), 11000);
    EXPECT_NE(gpu_unusable_reason(static_cast<int>(all.size())), "");
}

}  // namespace
}  // namespace tricodec
