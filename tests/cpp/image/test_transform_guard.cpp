// SPDX-License-Identifier: Apache-2.0
// No kernel reads a sample outside the crop: whatever lies there is memory that may not be touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "image/cpu/engine.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

constexpr std::size_t kPage = 65536;  // a multiple of every page size in use; the widest row of the test fits

enum class Side { left, right };

/// One plane: each row of the crop has a page of its own between two that may not be touched, the crop's samples at its
/// start or at its end; the other rows have no page that may be touched.
class GuardedPlane {
public:
    struct Part {
        int first_row;
        int end_row;
        std::size_t first_byte;  // of the crop in a row
        std::size_t end_byte;
    };

    GuardedPlane(int rows, const Part& part, Side side, const PixelFormatInfo& format, std::mt19937& random)
        : size_((2 * static_cast<std::size_t>(rows) + 1) * kPage) {
        base_ = static_cast<std::byte*>(
            mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (base_ == MAP_FAILED) std::abort();
        const std::size_t inside = part.end_byte - part.first_byte;
        const std::size_t start = side == Side::left ? 0 : kPage - inside;
        for (int row = part.first_row; row < part.end_row; ++row) {
            std::byte* const page = base_ + (2 * static_cast<std::size_t>(row) + 1) * kPage;
            if (mprotect(page, kPage, PROT_READ | PROT_WRITE) != 0) std::abort();
            for (std::size_t at = 0; at < inside; at += format.bytes_per_sample) {
                const auto sample = static_cast<std::uint16_t>((random() % (1U << format.depth)) << format.shift);
                std::memcpy(page + start + at, &sample, format.bytes_per_sample);
            }
        }
        plane_ = {base_ + kPage + start - part.first_byte, static_cast<std::ptrdiff_t>(2 * kPage)};
    }
    GuardedPlane(const GuardedPlane&) = delete;
    GuardedPlane& operator=(const GuardedPlane&) = delete;
    ~GuardedPlane() { munmap(base_, size_); }

    [[nodiscard]] const Plane& plane() const { return plane_; }

private:
    std::size_t size_;
    std::byte* base_ = nullptr;
    Plane plane_{};
};

void expect_only_the_crop_is_read(PixelFormat name, const TransformOptions& options, Side side, std::mt19937& random) {
    const PixelFormatInfo& format = info(name);
    const Crop crop = *options.crop;
    Frame frame;
    frame.format = name;
    frame.width = 400;
    frame.height = 30;
    std::vector<std::unique_ptr<GuardedPlane>> planes;
    for (int i = 0; i < format.num_planes; ++i) {
        const int log2_w = format.is_chroma(i) ? format.log2_chroma_w : 0;
        const int log2_h = format.is_chroma(i) ? format.log2_chroma_h : 0;
        const auto sample = static_cast<std::size_t>(format.components_in_plane(i) * format.bytes_per_sample);
        const auto last = [](int begin, int size, int log2) { return ((begin + size - 1) >> log2) + 1; };
        const GuardedPlane::Part part{crop.top >> log2_h, last(crop.top, crop.height, log2_h),
                                      static_cast<std::size_t>(crop.left >> log2_w) * sample,
                                      static_cast<std::size_t>(last(crop.left, crop.width, log2_w)) * sample};
        planes.push_back(
            std::make_unique<GuardedPlane>(format.plane_height(i, frame.height), part, side, format, random));
        frame.planes[static_cast<std::size_t>(i)] = planes.back()->plane();
    }
    const Plan plan = make_plan(frame_key(frame, options), options);
    const auto shape = shape_of(plan.output, plan.color.num_channels, plan.layout);
    const Tensor expected = Tensor::empty(shape, plan.dtype);
    transform_ref(plan, frame, expected.view, 0, plan.grid.height);
    for (const Kernels& kernels : supported_kernels()) {
        const Tensor result = Tensor::empty(shape, plan.dtype);
        transform_cpu(CpuPlan(kernels, plan), frame, result.view, 0, plan.grid.height);
        const auto bytes = static_cast<std::size_t>(result.view.num_elements()) * size_of(plan.dtype);
        EXPECT_EQ(std::memcmp(result.view.data, expected.view.data, bytes), 0)
            << kernels.name << ' ' << format.name << ' ' << Transform(options).describe();
    }
}

TEST(TransformGuard, reads_no_sample_outside_the_crop_in_any_format_and_path) {
    std::mt19937 random(11);
    const std::array<Crop, 4> crops = {Crop{4, 8, 20, 320}, {3, 7, 11, 133}, {2, 64, 1, 64}, {0, 0, 30, 399}};
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        for (const Crop& crop : crops) {
            for (const Side side : {Side::left, Side::right}) {
                TransformOptions options;
                options.crop = crop;
                expect_only_the_crop_is_read(format.format, options, side, random);
                options.size = Size{7, 40};
                options.dtype = DType::float32;
                expect_only_the_crop_is_read(format.format, options, side, random);
                options.resize = Resize::bicubic;
                options.size = Size{40, 500};
                expect_only_the_crop_is_read(format.format, options, side, random);
            }
        }
    }
}

}  // namespace
}  // namespace tricodec::image
