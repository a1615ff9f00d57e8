// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tricodec/base/profiler.h"

namespace tricodec {

/// From here to the end of the scope the thread works at the stage; scopes of one stage do not stand in one another.
class StageScope {
public:
    explicit StageScope(Stage stage) noexcept;
    StageScope(const StageScope&) = delete;
    StageScope& operator=(const StageScope&) = delete;
    ~StageScope();

private:
    Stage stage_;
    std::int64_t begin_ns_;  // 0: nothing is measured
};

/// Whether a Profiler measures.
[[nodiscard]] bool is_profiling() noexcept;

void add_gpu_time(Stage stage, std::int64_t gpu_ns) noexcept;
/// Sets what is called before totals are reported: it adds the times of GPUs that were not asked for yet.
void set_gpu_time_collector(void (*collect)() noexcept) noexcept;

}  // namespace tricodec
