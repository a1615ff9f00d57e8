// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/cuda/memory.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/gpu.h"

namespace tricodec {
namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

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

TEST(PinnedMemory, is_reused_only_when_nobody_copies_to_it) {
    const auto context = cuda::Context::primary(0);
    const auto before = context->pinned_pool().use().in_use_bytes();
    const auto* first = Buffer::allocate_pinned(2 << 20, kGpu)->data();
    EXPECT_EQ(Buffer::allocate_pinned(2 << 20, kGpu)->data(), first);
    EXPECT_EQ(context->pinned_pool().use().in_use_bytes(), before);
}

}  // namespace
}  // namespace tricodec
