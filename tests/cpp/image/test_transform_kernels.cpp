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
std::string expect_same_bytes(const std::vector<PaddedFrame>& sources, const TransformOptions& options,
                              int arrangement) {
    const Frame& first = sources[0].frame;
    const auto plan = std::make_shared<const Plan>(make_plan(frame_key(first, options), options));
    std::vector<Canvas> expected;
    std::vector<Canvas> results;
    const gpu::KernelPlan kernels(plan);
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
    const gpu::Launch launch = kernels.launch(tables.data(), items);
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
            EXPECT_TRUE(seen.insert(kernel).second) << kernel << " is there twice";
            for (const auto& [other, unused] : gpu::kernels_by_binary()) {
                EXPECT_EQ(kernel.starts_with("tricodec_" + other + "_"), other == binary) << kernel;
            }
        }
    }
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
            used.insert(expect_same_bytes(sources, options, arrangement));
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
                used.insert(expect_same_bytes(batch.frames, options, 0));
                if (HasFailure()) return;
            }
        }
    }
    expect_all_used(used, [](const std::string& kernel) { return kernel.starts_with("tricodec_resample_tile_8_"); });
}

}  // namespace
}  // namespace tricodec::image
