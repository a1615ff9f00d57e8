// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tricodec/base/profiler.h"

namespace tricodec {

/// From here to the end of the scope the thread works at the stage. The time of a scope inside another one counts for
/// the inner stage only. What happens inside Stage::index counts as that stage.
class StageScope {
public:
    /// `num_frames` is how many frames the work is about (StageTime::num_frames).
    StageScope(Stage stage, std::int64_t num_frames) noexcept;
    StageScope(const StageScope&) = delete;
    StageScope& operator=(const StageScope&) = delete;
    ~StageScope();

    /// For work that only then knows how many frames it was about.
    void set_num_frames(std::int64_t num_frames) noexcept { num_frames_ = num_frames; }

private:
    Stage stage_;
    std::int64_t num_frames_;
    std::int64_t begin_ns_ = 0;  // 0: nothing is measured
    std::int64_t inner_ns_ = 0;  // of scopes inside this one
    StageScope* outer_ = nullptr;
};

/// Whether a Profiler measures.
[[nodiscard]] bool is_profiling() noexcept;
/// The clock of all measurements.
[[nodiscard]] std::int64_t profiler_now_ns() noexcept;

/// Timed work of a GPU. `event` counts from the zero of the clock.
void add_gpu_time(const StageEvent& event) noexcept;
/// Sets what is called before totals are reported: it adds the times of GPUs that were not asked for yet.
void set_gpu_time_collector(void (*collect)() noexcept) noexcept;

}  // namespace tricodec
