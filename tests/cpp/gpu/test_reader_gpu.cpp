// SPDX-License-Identifier: Apache-2.0
/// FrameReader on a GPU against FrameReader on the CPU.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/cuda/context.h"
#include "media.h"
#include "tricodec/error.h"
#include "tricodec/frame_reader.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::packed;

struct ReaderCase {
    const char* file;
    const char* arguments;
};

std::filesystem::path path_of(const ReaderCase& wanted) {
    return clip(wanted.file, wanted.arguments, 60, "322x242");
}

std::unique_ptr<FrameReader> open(const std::filesystem::path& path, const std::string& device) {
    FrameReaderOptions options;
    options.device = device;
    return FrameReader::open(MediaSource::from_path(path), options);
}

std::vector<std::byte> host_bytes(const Tensor& tensor) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.view.num_elements()) * size_of(tensor.view.dtype));
    if (tensor.view.device.kind == Device::Kind::cpu) {
        std::memcpy(bytes.data(), tensor.view.data, bytes.size());
        return bytes;
    }
    const cuda::Stream stream(cuda::Context::primary(0));
    cuda::ContextScope scope(*stream.context());
    tensor.buffer->wait_on(stream);
    cuda::check(cuda::api().copy_to_host_async(bytes.data(), reinterpret_cast<cuda::DevicePointer>(tensor.view.data),
                                               bytes.size(), cuda::handle_of(stream)),
                "copying a tensor");
    stream.synchronize();
    return bytes;
}

void expect_same(const Frame& cpu, const Frame& gpu, std::int64_t i) {
    EXPECT_EQ(gpu.device.kind, Device::Kind::cuda);
    EXPECT_EQ(gpu.index, cpu.index) << i;
    EXPECT_EQ(gpu.pts, cpu.pts) << i;
    EXPECT_EQ(gpu.key, cpu.key) << i;
    EXPECT_EQ(gpu.picture_type, cpu.picture_type) << i;
    EXPECT_EQ(packed(gpu), packed(convert_layout(cpu, gpu.format))) << i;
}

class ReaderOnGpu : public ::testing::TestWithParam<ReaderCase> {};

TEST_P(ReaderOnGpu, iterates_over_the_same_frames) {
    const auto path = path_of(GetParam());
    const auto cpu = open(path, "cpu");
    const auto gpu = open(path, "cuda");
    EXPECT_EQ(gpu->device().to_string(), "cuda:0");
    for (const FrameSelection& selection : {FrameSelection{}, FrameSelection{3, 7, -1}, FrameSelection{17, 1, 20}}) {
        const auto expected = cpu->iterate(selection);
        const auto found = gpu->iterate(selection);
        std::int64_t i = 0;
        while (const auto frame = expected->next()) {
            const auto other = found->next();
            ASSERT_TRUE(other) << i;
            expect_same(*frame, *other, i++);
        }
        EXPECT_FALSE(found->next());
    }
    EXPECT_TRUE(gpu->issues().empty());
}

TEST_P(ReaderOnGpu, gives_single_frames_in_any_order) {
    const auto path = path_of(GetParam());
    const auto cpu = open(path, "cpu");
    const auto gpu = open(path, "cuda");
    for (const std::int64_t i : {0, 59, 13, 14, 15, 40, -1, 12, 11, 0, 30, 33}) {
        expect_same(cpu->frame(i), gpu->frame(i), i);
    }
    EXPECT_TRUE(gpu->issues().empty());
}

TEST_P(ReaderOnGpu, gives_the_same_batches) {
    const auto path = path_of(GetParam());
    const auto cpu = open(path, "cpu");
    const auto gpu = open(path, "cuda");
    std::vector<std::int64_t> all(60);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<std::int64_t> some = {5, 59, 5, 20, 33, 0, 21};
    TransformOptions small;
    small.size = Size{64, 96};
    small.dtype = DType::float32;
    small.layout = Layout::chw;
    for (const auto& options : {TransformOptions{}, small}) {
        const Transform transform(options);
        for (const auto& indices : {all, some}) {
            const Tensor expected = cpu->batch(indices, transform);
            const Tensor found = gpu->batch(indices, transform);
            EXPECT_EQ(found.view.device.kind, Device::Kind::cuda);
            EXPECT_EQ(host_bytes(found), host_bytes(expected));
            // Into memory of the host, which is copied back.
            const Tensor host = Tensor::empty(expected.view.shape, expected.view.dtype);
            gpu->batch_into(indices, transform, host.view);
            EXPECT_EQ(host_bytes(host), host_bytes(expected));
        }
    }
}

TEST_P(ReaderOnGpu, gives_all_frames_as_one_batch_before_they_are_indexed) {
    const auto path = path_of(GetParam());
    const auto expected = open(path, "cpu")->batch(FrameSelection{}, Transform());
    const auto gpu = open(path, "cuda");
    for (int times = 0; times < 2; ++times) {  // without an index, and with one
        const auto found = gpu->batch(FrameSelection{}, Transform());
        EXPECT_EQ(found.view.shape, expected.view.shape);
        EXPECT_EQ(found.view.device.kind, Device::Kind::cuda);
        EXPECT_EQ(host_bytes(found), host_bytes(expected));
    }
}

TEST_P(ReaderOnGpu, gives_the_same_batches_one_after_another) {
    const auto path = path_of(GetParam());
    const auto cpu = open(path, "cpu");
    const auto gpu = open(path, "cuda");
    const auto expected = cpu->batches({}, 16, Transform());
    const auto found = gpu->batches({}, 16, Transform());
    std::int64_t total = 0;
    while (const auto batch = expected->next()) {
        const auto other = found->next();
        ASSERT_TRUE(other) << total;
        EXPECT_EQ(other->view.device.kind, Device::Kind::cuda);
        EXPECT_EQ(host_bytes(*other), host_bytes(*batch)) << total;
        total += batch->view.shape[0];
    }
    EXPECT_FALSE(found->next());
    EXPECT_EQ(total, 60);
}

TEST_P(ReaderOnGpu, frames_of_the_cpu_come_into_tensors_on_the_gpu) {
    const auto cpu = open(path_of(GetParam()), "cpu");
    const std::vector<std::int64_t> some = {5, 59, 5, 20};
    const Transform transform;
    const Tensor expected = cpu->batch(some, transform);
    const Tensor there = Tensor::empty(expected.view.shape, expected.view.dtype, {Device::Kind::cuda, 0});
    there.buffer->wait();
    cpu->batch_into(some, transform, there.view);
    EXPECT_EQ(host_bytes(there), host_bytes(expected));
}

INSTANTIATE_TEST_SUITE_P(
    Clips, ReaderOnGpu,
    ::testing::Values(ReaderCase{"gr.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3"},
                      ReaderCase{"gr.h264.open.mkv",
                                 "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3 -x264-params open-gop=1:b-pyramid=normal"},
                      ReaderCase{"gr.hevc.mp4",
                                 "-pix_fmt yuv420p10le -c:v libx265 -preset fast -x265-params "
                                 "keyint=12:pools=1:log-level=none"},
                      ReaderCase{"gr.vp9.webm", "-pix_fmt yuv420p -c:v libvpx-vp9 -g 12 -b:v 300k -deadline realtime"}),
    [](const auto& parameter) {
        std::string name(parameter.param.file);
        for (auto& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
        return name;
    });

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

TEST(ReaderOnAuto, falls_to_the_cpu_for_what_the_gpu_does_not_decode_and_says_so) {
    const auto path = clip("gr.deep.mkv", "-pix_fmt yuv422p10le -c:v libx264", 30, "322x242");
    EXPECT_EQ(open(path, "auto")->device(), Device{});
    try {
        (void)open(path, "cuda");
        FAIL() << "it was opened";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find("4:2:2 of 10 bits"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace tricodec
