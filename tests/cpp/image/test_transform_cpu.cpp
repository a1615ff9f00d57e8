// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this machine against the scalar oracle, byte for byte, over random geometries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "image/cpu/engine.h"
#include "image/cpu/kernels.h"
#include "image/plan.h"
#include "random_transform.h"
#include "transform_testing.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

/// Without kernels every comparison below would pass for want of anything to compare.
TEST(TransformCpu, has_kernels_for_this_machine) {
#ifdef TRICODEC_HAVE_HIGHWAY
    EXPECT_FALSE(supported_kernels().empty()) << "built with Highway, which has no instruction set for this machine";
#else
    if (std::getenv("TRICODEC_REQUIRE_HIGHWAY") != nullptr) {
        FAIL() << "this build has no kernels (libhwy-dev was not found), and TRICODEC_REQUIRE_HIGHWAY wants them";
    }
    GTEST_SKIP() << "built without Highway: Transform is scalar";
#endif
}

void expect_same_bytes(PixelFormat name, int width, int height, Random& random) {
    PaddedFrame source = random_frame(name, width, height, random);
    const TransformOptions options = random_options(info(name), source.frame, random);
    const Plan plan = make_plan(frame_key(source.frame, options), options);
    const int arrangement = random.between(0, Canvas::kLast);
    Canvas expected(plan, arrangement);
    transform_ref(plan, source.frame, expected.view, 0, plan.grid.height);
    const int cut = random.between(0, plan.grid.height);  // rows are made several at once from wherever a part begins
    for (const Kernels& kernels : supported_kernels()) {
        Canvas result(plan, arrangement);
        const CpuPlan cpu(kernels, plan);
        transform_cpu(cpu, source.frame, result.view, cut, plan.grid.height);
        transform_cpu(cpu, source.frame, result.view, 0, cut);
        const auto differs = std::mismatch(result.bytes.begin(), result.bytes.end(), expected.bytes.begin()).first;
        ASSERT_TRUE(differs == result.bytes.end())
            << kernels.name << " at byte " << differs - result.bytes.begin() - result.guard << " of "
            << text(source.frame, options, arrangement);
    }
}

TEST(TransformCpu, gives_the_bytes_of_the_oracle_for_random_geometries_of_every_format) {
    Random random(20240607);
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        for (int i = 0; i < 124; ++i) {
            const bool has_many_vectors = i >= 120;
            const int width = has_many_vectors ? random.between(500, 700) : random.between(1, 130);
            const int height = has_many_vectors ? random.between(20, 90) : random.between(1, 130);
            expect_same_bytes(format.format, width, height, random);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(TransformCpu, takes_each_component_from_its_own_plane_even_if_two_share_memory) {
    Random random(3);
    PaddedFrame source = random_frame(PixelFormat::yuv420p, 40, 10, random);
    source.frame.planes[2] = source.frame.planes[1];
    const Plan plan = make_plan(frame_key(source.frame, {}), {});
    Canvas expected(plan, 0);
    transform_ref(plan, source.frame, expected.view, 0, plan.grid.height);
    for (const Kernels& kernels : supported_kernels()) {
        Canvas result(plan, 0);
        transform_cpu(CpuPlan(kernels, plan), source.frame, result.view, 0, plan.grid.height);
        EXPECT_EQ(result.bytes, expected.bytes) << kernels.name;
    }
}

class HalvesOfAnySize : public ::testing::TestWithParam<float> {};

/// Every word of 16 bits, so every P from black to white, and both signs.
TEST_P(HalvesOfAnySize, are_rounded_as_the_oracle_rounds_them) {
    std::vector<int> words(256 * 256);
    std::iota(words.begin(), words.end(), 0);
    const Frame frame = tricodec::testing::make_frame(PixelFormat::gray16le, 256, 256, {words});
    TransformOptions options;
    options.color = OutputColor::gray;
    options.dtype = DType::float16;
    options.scale = GetParam() / 255.0F;
    options.mean = {GetParam() / 3.0F};
    const Plan plan = make_plan(frame_key(frame, options), options);
    Canvas expected(plan, 0);
    transform_ref(plan, frame, expected.view, 0, plan.grid.height);
    for (const Kernels& kernels : supported_kernels()) {
        Canvas result(plan, 0);
        transform_cpu(CpuPlan(kernels, plan), frame, result.view, 0, plan.grid.height);
        EXPECT_EQ(result.bytes, expected.bytes) << kernels.name;
    }
}

// White: below the smallest half, among subnormal ones, where they end, usual, beyond the largest.
INSTANTIATE_TEST_SUITE_P(TransformCpu, HalvesOfAnySize, ::testing::Values(0x1p-24F, 0x1p-18F, 0x1p-13F, 1.0F, 0x1p17F));

}  // namespace
}  // namespace tricodec::image
