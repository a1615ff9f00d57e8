// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "image/cuda/period_args.h"
#include "image/plan.h"

namespace tricodec::image::gpu {

/// A plan for period_kernel.h.
struct Period {
    PeriodArgs args;    ///< without tables, output and frames
    const char* ratio;  ///< as kernels' names have it
    int channel[3];     ///< the output's channels that are red, green and blue
    std::array<std::vector<PeriodRow>, 2> row_tables;
    int shared_bytes;  ///< of a block
};

/// Nothing where the kernel cannot run the plan.
[[nodiscard]] std::optional<Period> make_period(const Plan& plan);

}  // namespace tricodec::image::gpu
