// SPDX-License-Identifier: Apache-2.0
// Transform on a GPU against the scalar oracle, byte for byte. These tests need a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/driver.h"
#include "image/cuda/module.h"
#include "image/kernel_names.h"
#include "image/plan.h"
#include "image/random_transform.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

/// A stream, and copies of bytes that wait for it only.
class Gpu {
public:
    Gpu() : stream_(cuda::Context::primary(0)) {}

    [[nodiscard]] StreamView stream() const { return stream_.view(); }

    [[nodiscard]] std::shared_ptr<Buffer> upload(const void* bytes, std::size_t size) const {
        auto buffer = Buffer::allocate(size, kGpu, stream());
        const cuda::ContextScope scope(*stream_.context());
        cuda::check(cuda::api().copy_async(buffer->data(), bytes, size, cuda::handle_of(stream())), "uploading");
        stream_.synchronize();
        buffer->written_on(stream());
        return buffer;
    }

    [[nodiscard]] std::vector<std::uint8_t> download(const void* from, std::size_t size) const {
        std::vector<std::uint8_t> bytes(size);
        const cuda::ContextScope scope(*stream_.context());
        cuda::check(cuda::api().copy_async(bytes.data(), from, size, cuda::handle_of(stream())), "downloading");
        stream_.synchronize();
        return bytes;
    }

    /// The frame on the GPU, each plane with `lead` bytes before it.
    [[nodiscard]] Frame upload(const Frame& frame, std::size_t lead = 0) const {
        Frame copy = frame;
        copy.device = kGpu;
        auto planes = std::make_shared<std::vector<std::shared_ptr<Buffer>>>();
        const PixelFormatInfo& format = info(frame.format);
        for (int i = 0; i < format.num_planes; ++i) {
            auto& plane = copy.planes[static_cast<std::size_t>(i)];
            const auto rows = static_cast<std::size_t>(format.plane_height(i, frame.height));
            const auto size = static_cast<std::size_t>(plane.stride_bytes) * (rows - 1) +
                              static_cast<std::size_t>(format.row_bytes(i, frame.width));
            std::vector<std::uint8_t> bytes(lead + size, 0xA5);
            std::copy_n(reinterpret_cast<const std::uint8_t*>(plane.data), size,
                        bytes.begin() + static_cast<std::ptrdiff_t>(lead));
            planes->push_back(upload(bytes.data(), bytes.size()));
            plane.data = planes->back()->data() + lead;
        }
        copy.buffer = planes->back();
        copy.owner = planes;
        return copy;
    }

    /// The frames, of one geometry, on the GPU in one piece of memory, each as far from the one before.
    [[nodiscard]] std::vector<Frame> upload_together(std::span<const PaddedFrame> sources) const {
        const PixelFormatInfo& format = info(sources[0].frame.format);
        std::vector<std::uint8_t> bytes;
        std::vector<std::size_t> places;
        for (const PaddedFrame& source : sources) {
            for (int i = 0; i < format.num_planes; ++i) {
                const auto& plane = source.frame.planes[static_cast<std::size_t>(i)];
                places.push_back(bytes.size());
                for (int y = 0; y < format.plane_height(i, source.frame.height); ++y) {
                    const auto* row = reinterpret_cast<const std::uint8_t*>(plane.data) + y * plane.stride_bytes;
                    bytes.insert(bytes.end(), row, row + format.row_bytes(i, source.frame.width));
                    bytes.resize((bytes.size() + 15) / 16 * 16);
                }
            }
        }
        const auto memory = upload(bytes.data(), bytes.size());
        std::vector<Frame> frames;
        auto place = places.begin();
        for (const PaddedFrame& source : sources) {
            Frame& frame = frames.emplace_back(source.frame);
            frame.device = kGpu;
            frame.buffer = memory;
            frame.owner = memory;
            for (int i = 0; i < format.num_planes; ++i) {
                frame.planes[static_cast<std::size_t>(i)] = {memory->data() + *place++,
                                                             (format.row_bytes(i, frame.width) + 15) / 16 * 16};
            }
        }
        return frames;
    }

private:
    cuda::Stream stream_;
};

std::vector<std::uint8_t> oracle(const Frame& frame, const TransformOptions& options, int arrangement) {
    const Plan plan = make_plan(frame_key(frame, options), options);
    Canvas canvas(plan, arrangement);
    transform_ref(plan, frame, canvas.view, 0, plan.grid.height);
    return canvas.bytes;
}

/// Transforms on the GPU into an output of the given arrangement and returns all of its memory.
std::vector<std::uint8_t> on_gpu(const Gpu& gpu, const Transform& transform, const Frame& device_frame,
                                 const Frame& host_frame, int arrangement) {
    Canvas canvas(make_plan(frame_key(host_frame, transform.options()), transform.options()), arrangement);
    const auto memory = gpu.upload(canvas.bytes.data(), canvas.bytes.size());
    TensorView out = canvas.view;
    out.data = memory->data() + (static_cast<std::uint8_t*>(canvas.view.data) - canvas.bytes.data());
    out.device = kGpu;
    transform(device_frame, out, gpu.stream());
    return gpu.download(memory->data(), canvas.bytes.size());
}

void expect_oracle(const Gpu& gpu, const Frame& frame, const TransformOptions& options, int arrangement,
                   std::size_t lead) {
    const Frame device_frame = gpu.upload(frame, lead);
    const auto expected = oracle(frame, options, arrangement);
    const auto result = on_gpu(gpu, Transform(options), device_frame, frame, arrangement);
    const auto differs = std::mismatch(result.begin(), result.end(), expected.begin()).first;
    ASSERT_TRUE(differs == result.end()) << "byte " << differs - result.begin() << " of the memory of "
                                         << text(frame, options, arrangement);
}

TEST(TransformGpu, finds_every_kernel_of_the_list_in_its_binary) {
    const auto context = cuda::Context::primary(0);
    for (const auto& [binary, kernels] : gpu::kernels_by_binary()) {
        for (const std::string& kernel : kernels) EXPECT_NE(gpu::find_kernel(context, kernel), nullptr) << kernel;
    }
}

TEST(TransformGpu, gives_the_bytes_of_the_oracle_for_random_geometries_of_every_format) {
    const Gpu gpu;
    Random random(20260704);
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        for (int i = 0; i < 150; ++i) {
            const std::size_t alignment = random.one_in(2) ? 16 : 0;
            PaddedFrame source =
                random_frame(format.format, random.between(1, 200), random.between(1, 130), random, alignment);
            TransformOptions options = random_options(format, source.frame, random);
            if (random.one_in(3)) {
                if (source.frame.orientation.swaps_axes()) options.crop.reset();
                options.size.reset();
                options.resize = Resize::bilinear;
                source.frame.orientation = {};
                source.frame.color.chroma_location = ChromaLocation::left;
            }
            const auto lead = alignment == 0 ? static_cast<std::size_t>(random.between(0, 17)) : 0;
            expect_oracle(gpu, source.frame, options, random.between(0, 5), lead);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(TransformGpu, gives_the_bytes_of_the_oracle_for_pictures_as_large_as_videos) {
    const Gpu gpu;
    Random random(99);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p, PixelFormat::yuv444p,
                                     PixelFormat::yuv444p16le, PixelFormat::nv16}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const Layout layout : {Layout::hwc, Layout::chw}) {
                PaddedFrame source = random_frame(format, random.one_in(2) ? 1920 : random.between(900, 1400),
                                                  random.between(300, 400), random, 16);
                TransformOptions options;
                options.dtype = dtype;
                options.layout = layout;
                expect_oracle(gpu, source.frame, options, 5, 0);
                options.crop = Crop{3, 13, 240, 711};
                expect_oracle(gpu, source.frame, options, 5, 0);
                options.size = Size{112, 112};
                expect_oracle(gpu, source.frame, options, 5, 0);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(TransformGpu, gives_the_bytes_of_the_oracle_where_coefficients_repeat) {
    const Gpu gpu;
    Random random(41);
    for (const Size from : {Size{1080, 1920}, Size{270, 480}, Size{540, 1200}, Size{96, 96}}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const Layout layout : {Layout::hwc, Layout::chw}) {
                const PaddedFrame source = random_frame(PixelFormat::nv12, from.width, from.height, random, 16);
                TransformOptions options;
                options.dtype = dtype;
                options.layout = layout;
                for (const int half : {3, 4, 6}) {  // columns to two
                    options.size = Size{from.height * 2 / half, from.width * 2 / half};
                    expect_oracle(gpu, source.frame, options, 5, 0);
                    options.size->height = from.height;
                    expect_oracle(gpu, source.frame, options, 5, 0);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(TransformGpu, keeps_subnormal_floats) {
    const Gpu gpu;
    Random random(3);
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
        PaddedFrame source = random_frame(PixelFormat::nv12, 64, 32, random, 16);
        TransformOptions options;
        options.dtype = dtype;
        options.scale = dtype == DType::float16 ? 1e-8F : 1e-41F;
        expect_oracle(gpu, source.frame, options, 5, 0);
    }
}

TEST(TransformGpu, makes_a_batch_of_more_frames_and_sizes_than_one_launch_takes) {
    const Gpu gpu;
    Random random(17);
    TransformOptions options;
    options.size = Size{33, 47};
    options.dtype = DType::float16;
    options.layout = Layout::chw;
    const Transform transform(options);
    std::vector<PaddedFrame> sources;
    std::vector<Frame> frames;
    for (int i = 0; i < 150; ++i) {
        const bool large = i >= 130;  // another geometry in mid-batch
        sources.push_back(random_frame(PixelFormat::nv12, large ? 150 : 96, large ? 90 : 64, random, 32));
        frames.push_back(gpu.upload(sources.back().frame));
    }

    const Tensor result = transform(std::span<const Frame>(frames), gpu.stream());

    ASSERT_EQ(result.view.shape, (std::vector<std::int64_t>{150, 3, 33, 47}));
    ASSERT_EQ(result.view.device, kGpu);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Tensor expected = transform(sources[i].frame);
        const auto size = static_cast<std::size_t>(expected.view.num_elements()) * size_of(options.dtype);
        const auto bytes = gpu.download(result.view[static_cast<std::int64_t>(i)].data, size);
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), static_cast<const std::uint8_t*>(expected.view.data)))
            << "frame " << i;
    }
}

TEST(TransformGpu, resizes_batches_of_videos_whose_blocks_take_several_frames) {
    const Gpu gpu;
    Random random(43);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p}) {
        std::vector<PaddedFrame> sources;
        std::vector<Frame> frames;
        for (int i = 0; i < 24; ++i) {
            sources.push_back(random_frame(format, 1920, 540, random, 16));
            sources.back().frame.orientation = {};
            sources.back().frame.color = sources[0].frame.color;
            frames.push_back(gpu.upload(sources.back().frame));
        }
        // A reader's frames share pieces of memory, in any order.
        if (format == PixelFormat::nv12) {
            const std::span<const PaddedFrame> all = sources;
            const auto behind = gpu.upload_together(all.subspan(9));
            frames = gpu.upload_together(all.first(9));
            frames.insert(frames.end(), behind.begin(), behind.end());
            std::ranges::reverse(frames);
            std::ranges::reverse(sources);
        }
        for (const DType dtype : {DType::uint8, DType::float16, DType::float32}) {
            for (const Layout layout : {Layout::chw, Layout::hwc}) {
                TransformOptions options;
                options.size = Size{224, dtype == DType::float32 ? 215 : 224};
                options.dtype = dtype;
                options.layout = layout;
                const Transform transform(options);

                const Tensor result = transform(std::span<const Frame>(frames), gpu.stream());

                for (std::size_t i = 0; i < frames.size(); ++i) {
                    const Tensor expected = transform(sources[i].frame);
                    const auto size = static_cast<std::size_t>(expected.view.num_elements()) * size_of(dtype);
                    const auto bytes = gpu.download(result.view[static_cast<std::int64_t>(i)].data, size);
                    const auto* const wanted = static_cast<const std::uint8_t*>(expected.view.data);
                    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), wanted)) << "frame " << i;
                }
            }
        }
    }
}

TEST(TransformGpu, serves_threads_with_streams_of_their_own) {
    Random random(23);
    TransformOptions options;
    options.size = Size{40, 40};
    const Transform transform(options);
    const PaddedFrame source = random_frame(PixelFormat::nv12, 128, 96, random, 32);
    const auto expected = oracle(source.frame, options, 0);
    std::vector<int> wrong(8, 0);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
        threads.emplace_back([&] {
            const Gpu gpu;
            const Frame frame = gpu.upload(source.frame);
            for (int i = 0; i < 20; ++i) {
                if (on_gpu(gpu, transform, frame, source.frame, 0) != expected) ++count;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(TransformGpu, waits_for_the_work_that_writes_a_frame) {
    const Gpu writer;
    const Gpu reader;
    Random random(29);
    const PaddedFrame source = random_frame(PixelFormat::nv12, 1024, 512, random, 32);
    Frame frame = writer.upload(source.frame);
    const TransformOptions options;
    const auto expected = oracle(source.frame, options, 5);
    // The luma is written late: after a long row of other copies on the writer's stream.
    const auto size = static_cast<std::size_t>(frame.planes[0].stride_bytes) * 512;
    const auto right = writer.upload(source.frame.planes[0].data, size);
    const auto other = Buffer::allocate(std::size_t{256} << 20, kGpu, writer.stream());
    const auto late = Buffer::allocate(size, kGpu, writer.stream());
    {
        const cuda::ContextScope scope(*cuda::Context::primary(0));
        const auto copy = [&](std::byte* to, const std::byte* from, std::size_t bytes) {
            cuda::check(cuda::api().copy_async(to, from, bytes, cuda::handle_of(writer.stream())), "copying");
        };
        for (int i = 0; i < 20; ++i)
            copy(other->data(), other->data() + (std::size_t{128} << 20), std::size_t{128} << 20);
        copy(late->data(), right->data(), size);
    }
    late->written_on(writer.stream());
    frame.planes[0].data = late->data();
    frame.buffer = late;
    EXPECT_TRUE(on_gpu(reader, Transform(options), frame, source.frame, 5) == expected);
}

TEST(TransformGpu, refuses_an_output_that_is_not_where_the_frame_is) {
    const Gpu gpu;
    Random random(31);
    const PaddedFrame source = random_frame(PixelFormat::nv12, 16, 16, random, 16);
    const Frame frame = gpu.upload(source.frame);
    const Transform transform;
    const Tensor host = Tensor::empty({16, 16, 3}, DType::uint8);
    const Tensor device = Tensor::empty({16, 16, 3}, DType::uint8, kGpu, gpu.stream());
    EXPECT_THROW(transform(frame, host.view, gpu.stream()), Error);
    EXPECT_THROW(transform(source.frame, device.view, gpu.stream()), Error);
    const std::vector<Frame> mixed{frame, source.frame};
    const Tensor both = Tensor::empty({2, 16, 16, 3}, DType::uint8, kGpu, gpu.stream());
    EXPECT_THROW(transform(std::span<const Frame>(mixed), both.view, gpu.stream()), Error);
}

}  // namespace
}  // namespace tricodec::image
