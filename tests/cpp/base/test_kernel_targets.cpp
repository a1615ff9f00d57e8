// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/cuda/kernel_set.h"

namespace tricodec::cuda {
namespace {

TEST(KernelTargets, run_on_gpus_of_their_generation_that_are_not_older) {
    const KernelTargets targets{{75, 80, 86}, 0};
    EXPECT_TRUE(targets.run_on(7, 5));
    EXPECT_TRUE(targets.run_on(8, 0));
    EXPECT_TRUE(targets.run_on(8, 9));  // by the binary of 8.6
    EXPECT_FALSE(targets.run_on(7, 0));
    EXPECT_FALSE(targets.run_on(9, 0));  // binaries are of one generation
}

TEST(KernelTargets, run_by_their_ptx_on_gpus_that_are_not_older) {
    const KernelTargets targets{{75}, 90};
    EXPECT_TRUE(targets.run_on(9, 0));
    EXPECT_TRUE(targets.run_on(12, 0));
    EXPECT_FALSE(targets.run_on(8, 9));
}

TEST(KernelTargets, of_a_build_without_kernels_run_nowhere) {
    EXPECT_FALSE(KernelTargets().run_on(9, 0));
}

TEST(KernelTargets, of_this_build_are_in_words_what_a_missing_gpu_is_told) {
    if (kernel_targets().ptx == 0) {
        EXPECT_NE(missing_kernels_reason("a GPU", 9, 0), "");
        return;
    }
    const auto reason = missing_kernels_reason("Old GPU", 3, 0);
    EXPECT_NE(reason.find("do not run on Old GPU (compute capability 3.0)"), std::string::npos) << reason;
    EXPECT_NE(kernels_in_words().find("PTX of compute_"), std::string::npos);
}

}  // namespace
}  // namespace tricodec::cuda
