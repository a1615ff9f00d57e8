// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tricodec/base/gpu.h"

namespace tricodec {
namespace {

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
