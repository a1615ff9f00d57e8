// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "image/cpu/kernels.h"
#include "image/cpu/row_filter.h"
#include "image/plan.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

/// How rows of the grid are made.
enum class RowPath : std::uint8_t {
    shared_chroma,  ///< one kernel from the frame's luma and V of chroma to RGB bytes
    generic,        ///< vertical, horizontal, color: a kernel each, rows of P between them
};

/// What the kernels of one instruction set need of a plan beyond the plan itself, made once with it.
class CpuPlan {
public:
    /// Both must outlive this.
    CpuPlan(const Kernels& kernels, const Plan& plan);
    CpuPlan(const CpuPlan&) = delete;
    CpuPlan& operator=(const CpuPlan&) = delete;

    [[nodiscard]] const Kernels& kernels() const noexcept { return kernels_; }
    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
    [[nodiscard]] RowPath path() const noexcept { return path_; }
    /// Why the path is not shared_chroma, for people; empty if it is.
    [[nodiscard]] const std::string& why_generic() const noexcept { return why_generic_; }
    /// Components that no channel looks at are not resampled: a zero factor's term may be left out (5.3).
    [[nodiscard]] bool is_needed(int component) const noexcept { return needed_[static_cast<std::size_t>(component)]; }
    /// Most rows of the grid that are made together: as many as the dot products of the kernels take, where rows are
    /// filtered by them.
    [[nodiscard]] int rows_at_once() const noexcept { return rows_at_once_; }
    [[nodiscard]] const RowFilter& horizontal(int filter) const noexcept { return filter == 0 ? luma_ : *chroma_; }
    [[nodiscard]] const ByteColor& bytes() const noexcept { return bytes_; }
    [[nodiscard]] const FloatColor& floats() const noexcept { return floats_; }

private:
    [[nodiscard]] std::string obstacle() const;

    const Kernels& kernels_;
    const Plan& plan_;
    std::array<bool, 3> needed_{};
    RowFilter luma_;
    std::optional<RowFilter> chroma_;
    ByteColor bytes_;
    FloatColor floats_;
    std::string why_generic_;
    RowPath path_ = RowPath::generic;
    int rows_at_once_ = 1;
};

/// transform_ref with the kernels of one instruction set: the same bytes. Works in a few rows of memory.
void transform_cpu(const CpuPlan& plan, const Frame& frame, const TensorView& out, int begin, int end);

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
