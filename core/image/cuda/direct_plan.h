// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "image/cuda/direct_kernel.h"
#include "image/plan.h"

namespace tricodec::image::gpu {

/// What the direct kernel needs of a plan.
struct DirectPlan {
    DirectArgs args{};            ///< without tables, output, color and frames
    std::array<int, 3> planes{};  ///< the frame's plane that is the kernel's i-th
    std::vector<ChromaRows> chroma_rows;
};

/// As direct_samples.h has a plan's samples: 8, 10 or 16.
[[nodiscard]] int kernel_bits(const Plan& plan);

/// Nothing for plans that are not the direct kernel's: those that resize, turn or mirror, use more than two taps of
/// whole quarters for chroma, or have samples of 9 bits. `needed` says which components are read.
[[nodiscard]] std::optional<DirectPlan> make_direct(const Plan& plan, const std::function<bool(int)>& needed);

}  // namespace tricodec::image::gpu
