// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "image/cpu/cpu_plan.h"
#include "image/plan.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

/// A plan and what this process's engine makes of it once: the best kernels that the machine has and
/// TRICODEC_DISABLE_CPU_FEATURES leaves, else image/ref.
/// Thread safety: const and safe from any number of threads.
class PreparedPlan {
public:
    explicit PreparedPlan(Plan plan);
    PreparedPlan(const PreparedPlan&) = delete;
    PreparedPlan& operator=(const PreparedPlan&) = delete;

    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
    /// None where image/ref runs.
    [[nodiscard]] const CpuPlan* cpu() const noexcept { return cpu_ ? &*cpu_ : nullptr; }
    /// Makes the rows [begin, end) of the plan's grid.
    void run(const Frame& frame, const TensorView& out, int begin, int end) const;

private:
    const Plan plan_;
    std::optional<CpuPlan> cpu_;
};

/// Those of this process: the best that the machine has and TRICODEC_DISABLE_CPU_FEATURES leaves; null where it is
/// image/ref that runs.
[[nodiscard]] const Kernels* chosen_kernels();

/// The best of `supported` (best first) that a comma-separated list of features leaves; none if it leaves none. Turning
/// a feature off turns off those that build on it. Names that no kernels have on any machine go to `unknown`.
[[nodiscard]] const Kernels* choose_kernels(std::span<const Kernels> supported, std::string_view disabled,
                                            const std::function<void(std::string_view)>& unknown);

/// What may be named there, for messages.
[[nodiscard]] std::string known_features();

}  // namespace tricodec::image
