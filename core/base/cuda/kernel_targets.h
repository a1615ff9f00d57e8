// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tricodec::cuda {

/// What the CUDA kernels of a build are compiled for.
struct KernelTargets {
    std::vector<int> architectures;  ///< 90 for sm_90
    int ptx = 0;                     ///< the compute capability of the PTX that other GPUs' drivers compile; 0 without

    /// Whether a GPU of this compute capability runs them: by a binary of its generation that is not newer than it, or
    /// by the PTX.
    [[nodiscard]] bool run_on(int major, int minor) const noexcept;
};

/// Of this build; nothing without nvcc, and with TRICODEC_DISABLE_CUDA_KERNELS=1 in the environment.
[[nodiscard]] const KernelTargets& kernel_targets();
/// Why this library has no kernels at all, for people; empty if it has.
[[nodiscard]] std::string missing_kernels_reason();
/// Why it has none for a GPU of this compute capability; empty if it has.
[[nodiscard]] std::string missing_kernels_reason(const std::string& gpu, int major, int minor);
/// "in this build for sm_90 and PTX of compute_90", or "not in this build".
[[nodiscard]] std::string kernels_in_words();

}  // namespace tricodec::cuda
