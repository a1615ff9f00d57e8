// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tricodec/base/profiler.h"

namespace tricodec {

/// The latest events of a Profiler, in a ring. Events come to all logs that exist. Thread safety: safe.
class StageLog {
public:
    /// Its events count from `begin_ns`; those that began before are left out.
    StageLog(std::size_t max_events, std::int64_t begin_ns);
    StageLog(const StageLog&) = delete;
    StageLog& operator=(const StageLog&) = delete;
    ~StageLog();

    /// Keeps what it has from now on.
    void stop();
    [[nodiscard]] std::vector<StageEvent> events() const;
    /// Those that no earlier call returned.
    [[nodiscard]] std::vector<StageEvent> take();
    [[nodiscard]] std::int64_t num_dropped() const;
    /// Those that take() came too late for.
    [[nodiscard]] std::int64_t num_missed() const;

    /// Gives an event, which counts from the zero of the clock, to all logs.
    static void add_to_all(const StageEvent& event) noexcept;

private:
    void add(StageEvent event);
    [[nodiscard]] std::vector<StageEvent> from(std::uint64_t first) const;

    const std::size_t max_events_;
    const std::int64_t begin_ns_;
    bool stopped_ = false;
    std::vector<StageEvent> ring_;
    std::uint64_t num_added_ = 0;
    std::uint64_t num_lost_ = 0;  // for which there was no memory
    std::uint64_t num_taken_ = 0;
    std::uint64_t num_missed_ = 0;
};

}  // namespace tricodec
