// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels' source, run on the CPU, against the scalar oracle, byte for byte, over random geometries.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "image/cuda/kernel_plan.h"
#include "image/cuda/module.h"
#include "image/plan.h"
#include "kernel_emulator.h"
#include "kernel_names.h"
#include "random_transform.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

constexpr std::size_t kSharedBytes = 99 * 1024;  // of the GPUs that have the least

/// Tables in memory aligned as a device's is.
class DeviceTables {
public:
    explicit DeviceTables(std::span<const std::byte> bytes) : words_(bytes.size() / sizeof(gpu::Words4) + 1) {
        std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(words_.data()));
    }
    [[nodiscard]] const std::byte* data() const { return reinterpret_cast<const std::byte*>(words_.data()); }

private:
    std::vector<gpu::Words4> words_;
};

/// That every wanted kernel of the library was used, and no kernel that the library lacks.
template <class Wanted>
void expect_all_used(std::set<std::string> used, const Wanted& is_wanted) {
    std::erase_if(used, [&](const std::string& kernel) { return !is_wanted(kernel); });
    EXPECT_EQ(used, gpu::kernels_where(is_wanted));
}

/// Runs what a GPU would run, for frames of one geometry, and returns the kernel's name.
std::string expect_same_bytes(const std::vector<PaddedFrame>& sources, const TransformOptions& options, int arrangement,
                              bool prefer_mma = false, int multiprocessors = 1) {
    const Frame& first = sources[0].frame;
    const auto plan = std::make_shared<const Plan>(make_plan(frame_key(first, options), options));
    std::vector<Canvas> expected;
    std::vector<Canvas> results;
    const gpu::KernelPlan kernels(plan, prefer_mma);
    const DeviceTables tables(kernels.tables());
    std::vector<gpu::Item> items;
    expected.reserve(sources.size());
    results.reserve(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        expected.emplace_back(*plan, arrangement);
        results.emplace_back(*plan, arrangement);
        transform_ref(*plan, sources[i].frame, expected[i].view, 0, plan->grid.height);
        items.push_back({&sources[i].frame, target_of(*plan, results[i].view)});
    }
    const gpu::Launch launch = kernels.launch(tables.data(), items, {kSharedBytes, multiprocessors});
    gpu::emulate(launch);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto differs =
            std::mismatch(results[i].bytes.begin(), results[i].bytes.end(), expected[i].bytes.begin()).first;
        EXPECT_TRUE(differs == results[i].bytes.end())
            << launch.kernel << " at byte " << differs - results[i].bytes.begin() - results[i].guard << " of "
            << text(first, options, arrangement);
    }
    return launch.kernel;
}

/// What the kernel convert takes: no resize, not turned; chroma to the left.
void keep_size(TransformOptions& options, Frame& frame) {
    options.size.reset();
    options.resize = Resize::bilinear;
    frame.orientation = {};
    frame.color.chroma_location = ChromaLocation::left;
}

TEST(TransformKernels, are_each_in_the_one_binary_that_their_name_says) {
    std::set<std::string> seen;
    for (const auto& [binary, kernels] : gpu::kernels_by_binary()) {
        EXPECT_FALSE(kernels.empty()) << binary;
        for (const std::string& kernel : kernels) {
            EXPECT_EQ(gpu::binary_of(kernel), binary) << kernel;
            EXPECT_TRUE(seen.insert(kernel).second) << kernel << " is there twice";
            int others = 0;
            for (const auto& [other, unused] : gpu::kernels_by_binary()) {
                others += other != binary && kernel.starts_with("tricodec_" + other + "_") ? 1 : 0;
            }
            EXPECT_EQ(others, 0) << kernel;
        }
    }
    EXPECT_EQ(gpu::binary_of("tricodec_gather"), "");
    EXPECT_EQ(gpu::binary_of("tricodec_convert"), "");
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_random_geometries_of_every_format) {
    Random random(20260311);
    std::set<std::string> used;
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        for (int i = 0; i < 60; ++i) {  // TransformGpu has 150 on a GPU
            std::vector<PaddedFrame> sources;
            // One by one: in which order a call's arguments are made is the compiler's choice.
            const int width = random.between(1, 130);
            const int height = random.between(1, 90);
            const int padding = random.one_in(2) ? 16 : 0;
            sources.push_back(random_frame(format.format, width, height, random, padding));
            TransformOptions options = random_options(format, sources[0].frame, random);
            if (random.one_in(3)) {
                options.crop.reset();
                keep_size(options, sources[0].frame);
                if (random.one_in(2) && format.family != ColorFamily::rgb) options.color = OutputColor::yuv;
            }
            const int arrangement = random.between(0, 5);
            used.insert(expect_same_bytes(sources, options, arrangement, !random.one_in(3)));
            if (HasFailure()) return;
        }
    }
    expect_all_used(used, [](const std::string&) { return true; });
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_crops_of_wide_pictures) {
    std::set<std::string> used;
    Random random(5);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p, PixelFormat::yuv444p,
                                     PixelFormat::nv16, PixelFormat::gbrp10le}) {
        for (int i = 0; i < 12; ++i) {
            std::vector<PaddedFrame> sources;
            const int some = random.between(800, 1300);
            const int width = random.one_in(2) ? some / 32 * 32 : some;
            const int height = random.between(10, 40);
            sources.push_back(random_frame(format, width, height, random, 16));
            Frame& frame = sources[0].frame;
            TransformOptions options = random_options(info(format), frame, random);
            keep_size(options, frame);
            options.crop.reset();  // it may be one of the turned picture
            const int left = random.between(0, 600);
            const int top = random.between(0, 5);
            if (random.one_in(2)) options.crop = Crop{top, left, frame.height - top, frame.width - left};
            used.insert(expect_same_bytes(sources, options, random.between(0, 5)));
            if (HasFailure()) return;
        }
    }
    const auto grays =
        std::count_if(used.begin(), used.end(), [](const auto& kernel) { return kernel.ends_with("_gray"); });
    EXPECT_GE(grays, 4);
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_aligned_pictures_of_decoders) {
    Random random(17);
    std::set<std::string> used;
    for (const PixelFormat format :
         {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::nv16, PixelFormat::yuv422p, PixelFormat::p010le,
          PixelFormat::yuv420p10le, PixelFormat::p210le, PixelFormat::p012le, PixelFormat::p216le,
          PixelFormat::yuv420p12le, PixelFormat::yuv422p16le}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const Layout layout : {Layout::hwc, Layout::chw, Layout::chw2, Layout::hwc8}) {
                const bool padded = layout == Layout::chw2 || layout == Layout::hwc8;
                for (int i = 0; i < 6; ++i) {
                    const int width = padded ? 4 * random.between(1, 160) : 16 * random.between(1, 40);
                    std::vector<PaddedFrame> sources;
                    sources.push_back(random_frame(format, width, random.between(2, 24), random, 16));
                    Frame& frame = sources[0].frame;
                    TransformOptions options = random_options(info(format), frame, random);
                    keep_size(options, frame);
                    options.crop.reset();
                    options.dtype = dtype;
                    options.layout = layout;
                    options.color = random.one_in(3) ? OutputColor::bgr : OutputColor::rgb;
                    if (dtype == DType::uint8) {
                        options.scale.reset();
                        options.mean.clear();
                        options.std.clear();
                    }
                    if (random.one_in(2) && frame.width > 32) {
                        const int left = 16 * random.between(0, frame.width / 16 - 1);
                        const int top = 2 * random.between(0, (frame.height - 1) / 2);
                        options.crop = Crop{top, left, frame.height - top, frame.width - left};
                    }
                    used.insert(expect_same_bytes(sources, options, 5));
                    if (HasFailure()) return;
                }
            }
        }
    }
    expect_all_used(used, [](const std::string& kernel) {
        return kernel.starts_with("tricodec_convert_") && (kernel.ends_with("_pairs") || kernel.ends_with("_planes"));
    });
    EXPECT_TRUE(used.contains("tricodec_resample_tile_8_float16"));  // padded layouts
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_pictures_of_any_width_and_address) {
    Random random(29);
    std::set<std::string> used;
    for (const PixelFormat format :
         {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::nv16, PixelFormat::yuv422p}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const Layout layout : {Layout::hwc, Layout::chw}) {
                for (int i = 0; i < 8; ++i) {
                    const int width = random.between(1, 700);
                    const int height = random.between(1, 24);
                    const int alignment = random.one_in(3) ? 16 : 0;
                    std::vector<PaddedFrame> sources;
                    sources.push_back(random_frame(format, width, height, random, alignment));
                    Frame& frame = sources[0].frame;
                    TransformOptions options;
                    keep_size(options, frame);
                    frame.color.matrix = ColorMatrix::bt709;
                    options.dtype = dtype;
                    options.layout = layout;
                    if (random.one_in(2)) {
                        const int left = 2 * random.between(0, (width - 1) / 2);
                        const int top = 2 * random.between(0, (height - 1) / 2);
                        options.crop =
                            Crop{top, left, random.between(1, height - top), random.between(1, width - left)};
                    }
                    used.insert(expect_same_bytes(sources, options, random.of({0, 2, 3, 5})));
                    if (HasFailure()) return;
                }
            }
        }
    }
    expect_all_used(used, [](const std::string& kernel) {
        return kernel.starts_with("tricodec_convert_8_") && (kernel.ends_with("_pairs") || kernel.ends_with("_planes"));
    });
}

TEST(TransformKernels, convert_pictures_of_repeated_chroma_without_resampling_them) {
    Random random(37);
    for (const PixelFormat format :
         {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::nv16, PixelFormat::yuv422p, PixelFormat::p010le,
          PixelFormat::yuv420p10le, PixelFormat::p216le, PixelFormat::yuv422p12le}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::float32}) {
            for (int i = 0; i < 12; ++i) {
                const int alignment = random.one_in(3) ? 0 : 16;
                const int width = random.between(1, 700);
                const int height = random.between(1, 24);
                std::vector<PaddedFrame> sources;
                sources.push_back(random_frame(format, width, height, random, alignment));
                TransformOptions options;
                options.dtype = dtype;
                options.layout = random.of({Layout::hwc, Layout::chw});
                options.chroma = ChromaUpsampling::nearest;
                sources[0].frame.color.chroma_location = random.of({ChromaLocation::left, ChromaLocation::center});
                if (random.one_in(2)) {  // of any parity
                    const int left = random.between(0, width - 1);
                    const int top = random.between(0, height - 1);
                    options.crop = Crop{top, left, random.between(1, height - top), random.between(1, width - left)};
                }
                const std::string kernel = expect_same_bytes(sources, options, random.of({0, 2, 3, 5}));
                EXPECT_TRUE(kernel.starts_with("tricodec_convert_") && kernel.ends_with("_full")) << kernel;
                if (HasFailure()) return;
            }
        }
    }
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_every_color_of_eight_bits) {
    // Two by two blocks of each chroma pair, so that every luma and chroma value meets every other and half-way sums.
    for (const int matrix : {1, 4, 5, 7, 9}) {
        for (const ColorRange range : {ColorRange::limited, ColorRange::full}) {
            for (int u = 0; u < 256; u += 15) {
                std::vector<PaddedFrame> sources;
                Random random(static_cast<unsigned>(u));
                sources.push_back(random_frame(PixelFormat::nv12, 512, 32, random, 16));
                Frame& frame = sources[0].frame;
                frame.orientation = {};
                frame.color = {};
                frame.color.matrix = static_cast<ColorMatrix>(matrix);
                frame.color.range = range;
                auto* luma = reinterpret_cast<std::uint8_t*>(frame.planes[0].data);
                auto* chroma = reinterpret_cast<std::uint8_t*>(frame.planes[1].data);
                for (int y = 0; y < 32; ++y) {
                    for (int x = 0; x < 512; ++x) luma[y * frame.planes[0].stride_bytes + x] = std::uint8_t(x / 2);
                }
                for (int y = 0; y < 16; ++y) {
                    for (int x = 0; x < 256; ++x) {
                        const int v = (x * 7 + y * 17 + u) % 256;
                        chroma[y * frame.planes[1].stride_bytes + 2 * x] = std::uint8_t(y % 2 ? 255 - u : u);
                        chroma[y * frame.planes[1].stride_bytes + 2 * x + 1] = std::uint8_t(x % 3 ? v : 255 - v);
                    }
                }
                EXPECT_EQ(expect_same_bytes(sources, {}, 5), "tricodec_convert_8_uint8_pairs");
                if (HasFailure()) return;
            }
        }
    }
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_every_sample_of_ten_bits) {
    for (const PixelFormat format : {PixelFormat::p010le, PixelFormat::yuv420p10le}) {
        for (const DType dtype : {DType::uint8, DType::float16}) {
            std::vector<PaddedFrame> sources;
            Random random(10);
            sources.push_back(random_frame(format, 2048, 16, random, 16));
            Frame& frame = sources[0].frame;
            frame.orientation = {};
            frame.color = {};
            const PixelFormatInfo& layout = info(format);
            const int shift = format == PixelFormat::p010le ? 6 : 0;
            for (int plane = 0; plane < layout.num_planes; ++plane) {
                const Plane& own = frame.planes[static_cast<std::size_t>(plane)];
                for (int y = 0; y < layout.plane_height(plane, frame.height); ++y) {
                    auto* const row = reinterpret_cast<std::uint16_t*>(own.data + y * own.stride_bytes);
                    const auto samples = static_cast<int>(layout.row_bytes(plane, frame.width) / 2);
                    // Luma sees each value beside each row's own chroma; steps are odd, so that no value is left out.
                    for (int x = 0; x < samples; ++x)
                        row[x] = std::uint16_t((x * (2 * y + 1) + plane * 37) % 1024 << shift);
                }
            }
            TransformOptions options;
            options.dtype = dtype;
            EXPECT_TRUE(expect_same_bytes(sources, options, 5).starts_with("tricodec_convert_16_"));
        }
    }
}

TEST(TransformKernels, add_up_outputs_that_more_columns_go_into_than_shared_memory_holds) {
    Random random(11);
    for (const PixelFormat format :
         {PixelFormat::nv12, PixelFormat::gray, PixelFormat::yuv444p16le, PixelFormat::rgb24}) {
        for (const Resize resize : {Resize::bilinear, Resize::bicubic}) {
            std::vector<PaddedFrame> sources;
            sources.push_back(random_frame(format, random.between(14000, 16000), random.between(2, 5), random));
            TransformOptions options;
            options.size = Size{2, random.between(1, 3)};
            options.resize = resize;
            expect_same_bytes(sources, options, 0);
        }
    }
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_where_coefficients_repeat) {
    Random random(31);
    std::set<std::string> used;
    for (const int columns : {12, 16, 24}) {  // of eight outputs
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const Layout layout : {Layout::hwc, Layout::chw}) {
                for (int i = 0; i < 3; ++i) {
                    const int units = random.between(3, 40);
                    const int height = 2 * random.between(2, 50);
                    const int left = random.one_in(3) ? 32 * random.between(0, 2) : 0;
                    const int top = random.one_in(3) ? random.between(0, 4) : 0;
                    std::vector<PaddedFrame> sources;
                    for (int k = 0; k < 2; ++k) {
                        sources.push_back(random_frame(PixelFormat::nv12, left + units * columns + random.between(0, 1),
                                                       top + height, random, 16));
                        sources[k].frame.width = left + units * columns;
                    }
                    TransformOptions options = random_options(info(PixelFormat::nv12), sources[0].frame, random);
                    Frame& frame = sources[0].frame;
                    frame.orientation = {};
                    options.crop = Crop{top, left, height, units * columns};
                    options.size = Size{random.between((height * 2 + 2) / 3, 2 * height), 8 * units};
                    if (random.one_in(2)) options.size->height = height * 8 / columns;
                    options.resize = Resize::bilinear;
                    options.antialias = columns != 16 || options.antialias;
                    options.dtype = dtype;
                    options.layout = layout;
                    options.color = layout == Layout::chw && random.one_in(3) ? OutputColor::bgr : OutputColor::rgb;
                    if (dtype == DType::uint8) {
                        options.scale.reset();
                        options.mean.clear();
                        options.std.clear();
                    }
                    for (PaddedFrame& source : sources) {
                        source.frame.color = frame.color;
                        source.frame.orientation = {};
                    }
                    used.insert(expect_same_bytes(sources, options, 5));
                    if (HasFailure()) return;
                }
            }
        }
    }
    expect_all_used(used, [](const std::string& kernel) {
        return kernel.starts_with("tricodec_resample_mma_8_") && kernel.ends_with("_pairs");
    });
}

TEST(TransformKernels, multiply_matrices_where_rows_are_mixed_and_the_gpu_can) {
    Random random(23);
    std::vector<PaddedFrame> sources;
    sources.push_back(random_frame(PixelFormat::nv12, 320, 180, random, 16));
    const auto kernel = [&](int height, std::size_t shared_bytes, Resize resize = Resize::bilinear) {
        TransformOptions options;
        options.resize = resize;
        options.size = Size{height, 56};
        sources[0].frame.orientation = {};
        const auto plan = std::make_shared<const Plan>(make_plan(frame_key(sources[0].frame, options), options));
        const gpu::KernelPlan kernels(plan);
        const DeviceTables tables(kernels.tables());
        const Canvas canvas(*plan, 5);
        const std::vector<gpu::Item> items{{&sources[0].frame, target_of(*plan, canvas.view)}};
        return kernels.launch(tables.data(), items, {shared_bytes, /*multiprocessors=*/1}).kernel;
    };
    EXPECT_EQ(kernel(40, kSharedBytes), "tricodec_resample_mma_8_uint8_pairs");
    EXPECT_EQ(kernel(40, 0), "tricodec_resample_tile_8_uint8");
    EXPECT_EQ(kernel(40, 8 * 1024), "tricodec_resample_tile_8_uint8");
    EXPECT_EQ(kernel(120, kSharedBytes), "tricodec_resample_mma_8_uint8_pairs");
    EXPECT_EQ(kernel(120, kSharedBytes, Resize::nearest), "tricodec_resample_tile_8_uint8");
    sources[0].frame.planes[0].data += 8;  // copies are of 16 bytes
    EXPECT_EQ(kernel(40, kSharedBytes), "tricodec_resample_tile_8_uint8");
    sources[0] = random_frame(PixelFormat::nv12, 64, 900, random, 16);  // more rows than shared memory holds
    EXPECT_EQ(kernel(8, kSharedBytes), "tricodec_resample_tile_8_uint8");
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_where_products_take_hundreds_of_rows) {
    Random random(29);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p, PixelFormat::gray}) {
        for (const int height : {5, 14, 33, 70}) {
            std::vector<PaddedFrame> sources;
            const int width = random.between(40, 100);
            sources.push_back(random_frame(format, width, random.between(320, 480), random, 16));
            sources[0].frame.orientation = {};
            TransformOptions options;
            options.size = Size{height, random.between(3, 50)};
            options.resize = height == 14 ? Resize::bicubic : Resize::bilinear;
            EXPECT_TRUE(expect_same_bytes(sources, options, 0, true).starts_with("tricodec_resample_mma_"));
        }
    }
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_where_blocks_take_several_frames) {
    Random random(31);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p, PixelFormat::gray}) {
        for (const int num_frames : {2, 7, 21}) {
            for (const int multiprocessors : {1, 4, 16}) {
                std::vector<PaddedFrame> sources;
                for (int i = 0; i < num_frames; ++i) sources.push_back(random_frame(format, 90, 70, random, 16));
                for (PaddedFrame& source : sources) source.frame.orientation = {};
                for (PaddedFrame& source : sources) source.frame.color = sources[0].frame.color;
                TransformOptions options;
                options.size = Size{random.between(9, 40), random.between(9, 40)};
                const std::string kernel = expect_same_bytes(sources, options, 0, true, multiprocessors);
                EXPECT_TRUE(kernel.starts_with("tricodec_resample_mma_"));
            }
        }
    }
}

/// Frames of random samples and of one stride in one piece of memory, in any order, with other bytes between planes.
class Batch {
public:
    Batch(PixelFormat format, int width, int height, int num_frames, Random& random) {
        const PixelFormatInfo& layout = info(format);
        for (int i = 0; i < num_frames; ++i) frames.push_back(random_frame(format, width, height, random, 16));
        const Frame& first = frames[0].frame;
        std::size_t size = 0;
        for (int plane = 0; plane < layout.num_planes; ++plane) size += words_of(first, layout, plane) + kMostBetween;
        memory_.resize(static_cast<std::size_t>(num_frames) * size);
        std::size_t at = 0;
        for (PaddedFrame& source : frames) {
            for (int plane = 0; plane < layout.num_planes; ++plane) {
                at += static_cast<std::size_t>(random.between(0, kMostBetween));
                Plane& own = source.frame.planes[static_cast<std::size_t>(plane)];
                own.stride_bytes = first.planes[static_cast<std::size_t>(plane)].stride_bytes;
                own.data = reinterpret_cast<std::byte*>(memory_.data() + at);
                at += words_of(first, layout, plane);
            }
            source.frame.orientation = {};
            source.frame.color = first.color;
        }
        for (gpu::Words4& words : memory_) {
            for (std::uint32_t& word : words.w) word = static_cast<std::uint32_t>(random.between(INT_MIN, INT_MAX));
        }
        for (std::size_t i = frames.size(); i > 1; --i) {
            const auto other = static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1));
            std::swap(frames[i - 1].frame, frames[other].frame);
        }
    }
    std::vector<PaddedFrame> frames;

private:
    static constexpr int kMostBetween = 5;

    static std::size_t words_of(const Frame& frame, const PixelFormatInfo& layout, int plane) {
        return static_cast<std::size_t>(frame.planes[static_cast<std::size_t>(plane)].stride_bytes) *
               static_cast<std::size_t>(layout.plane_height(plane, frame.height)) / sizeof(gpu::Words4);
    }
    std::vector<gpu::Words4> memory_;
};

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_batches_of_frames_anywhere_in_memory) {
    Random random(41);
    std::set<std::string> used;
    for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
        for (const int num_frames : {1, 3, 8}) {
            for (const double reduction : {1.7, 4.1, 5.6, 9.5}) {
                const int height = random.between(60, 220);
                Batch batch(PixelFormat::nv12, random.between(90, 400), height, num_frames, random);
                TransformOptions options;
                options.dtype = dtype;
                options.layout = random.one_in(2) ? Layout::chw : Layout::hwc;
                options.size = Size{static_cast<int>(height / reduction), random.between(9, 70)};
                if (random.one_in(3)) options.crop = Crop{3, 17, height - 7, 61};
                const int multiprocessors = random.between(1, 4);
                used.insert(expect_same_bytes(batch.frames, options, 0, true, multiprocessors));
                if (HasFailure()) return;
            }
        }
    }
    expect_all_used(used, [](const std::string& kernel) {
        return kernel.starts_with("tricodec_resample_mma_8_") && kernel.ends_with("_pairs");
    });
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_for_frames_that_come_twice_or_have_another_stride) {
    Random random(47);
    Batch batch(PixelFormat::nv12, 200, 90, 3, random);
    TransformOptions options;
    options.size = Size{30, 40};
    batch.frames[1].frame = batch.frames[0].frame;
    Batch wider(PixelFormat::nv12, 300, 90, 1, random);
    wider.frames[0].frame.width = 200;
    wider.frames[0].frame.color = batch.frames[0].frame.color;
    batch.frames.push_back(std::move(wider.frames[0]));
    EXPECT_EQ(expect_same_bytes(batch.frames, options, 0, true), "tricodec_resample_mma_8_uint8_pairs");
}

TEST(TransformKernels, give_the_bytes_of_the_oracle_where_eight_points_are_stored_at_once) {
    Random random(37);
    for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010le, PixelFormat::yuv420p, PixelFormat::gray}) {
        for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
            for (const int width : {32, 64, 72, 33, 24}) {
                std::vector<PaddedFrame> sources;
                sources.push_back(random_frame(format, random.between(80, 200), 60, random, 16));
                sources[0].frame.orientation = {};
                TransformOptions options;
                options.size = Size{random.between(7, 50), width};
                options.layout = Layout::chw;
                options.dtype = dtype;
                EXPECT_TRUE(expect_same_bytes(sources, options, 5, true).starts_with("tricodec_resample_mma_"));
                const auto plan =
                    std::make_shared<const Plan>(make_plan(frame_key(sources[0].frame, options), options));
                const Canvas canvas(*plan, 5);
                const std::vector<gpu::Item> items{{&sources[0].frame, target_of(*plan, canvas.view)}};
                const gpu::KernelPlan kernels(plan, true);
                const DeviceTables tables(kernels.tables());
                const gpu::Launch launch = kernels.launch(tables.data(), items, {kSharedBytes, /*multiprocessors=*/1});
                EXPECT_EQ(std::get<gpu::MmaArgs>(launch.args).eights != 0, width % 8 == 0 && dtype != DType::float32)
                    << width;
            }
        }
    }
}

TEST(TransformKernels, run_many_frames_at_once) {
    Random random(13);
    for (const bool resized : {false, true}) {
        std::vector<PaddedFrame> sources;
        for (int i = 0; i < gpu::kMaxFrames; ++i)
            sources.push_back(random_frame(PixelFormat::nv12, 70, 34, random, 32));
        TransformOptions options;
        if (resized) options.size = Size{20, 30};
        expect_same_bytes(sources, options, 0);
    }
}

}  // namespace
}  // namespace tricodec::image
