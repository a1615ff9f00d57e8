// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this machine against the scalar oracle, byte for byte, over random geometries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
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
        for (int i = 0; i < 120; ++i) {
            expect_same_bytes(format.format, random.between(1, 130), random.between(1, 130), random);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(TransformCpu, gives_the_bytes_of_the_oracle_for_pictures_of_many_vectors) {
    Random random(7);
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        for (int i = 0; i < 4; ++i) {
            expect_same_bytes(format.format, random.between(500, 700), random.between(20, 90), random);
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

// ---- choosing

std::string chosen(const std::vector<std::string_view>& features, std::string_view disabled) {
    std::vector<Kernels> supported(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) supported[i].feature = features[i];
    std::string unknown;
    const Kernels* kernels =
        choose_kernels(supported, disabled, [&](std::string_view name) { unknown += "?" + std::string(name); });
    return (kernels == nullptr ? "none" : std::string(kernels->feature)) + unknown;
}

TEST(TransformCpu, chooses_the_best_instruction_set_that_is_not_disabled) {
    const std::vector<std::string_view> x86 = {"avx512", "avx2", "sse4"};
    EXPECT_EQ(chosen(x86, ""), "avx512");
    EXPECT_EQ(chosen(x86, "avx512"), "avx2");
    EXPECT_EQ(chosen(x86, "avx512, avx2"), "sse4");
    EXPECT_EQ(chosen(x86, "avx2"), "sse4");  // AVX-512 builds on AVX2
    EXPECT_EQ(chosen(x86, "sse4"), "none");
    EXPECT_EQ(chosen(x86, "neon"), "avx512");
    EXPECT_EQ(chosen({"neon"}, "avx2"), "neon");
    EXPECT_EQ(chosen({"neon"}, "neon"), "none");
    EXPECT_EQ(chosen({}, ""), "none");
}

TEST(TransformCpu, names_features_that_it_does_not_know_and_goes_on) {
    EXPECT_EQ(chosen({"avx512", "avx2"}, "avx1024,,avx512,SSE4"), "avx2?avx1024?SSE4");
    EXPECT_EQ(known_features(), "avx512, avx2, sse4, neon");
}

}  // namespace
}  // namespace tricodec::image
