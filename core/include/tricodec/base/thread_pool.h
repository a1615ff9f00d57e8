// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tricodec {

/// Runs tasks, possibly at the same time, and returns when all are done. The first exception is rethrown then.
/// Front ends hand in their own (DALI's thread pool); run_parallel is the library's.
using TaskRunner = std::function<void(std::vector<std::function<void()>>& tasks)>;

/// CPU cores this process may run on (affinity honoured), at least 1.
[[nodiscard]] int available_cores() noexcept;

/// Runs tasks on at most `num_threads` threads of the process-wide pool, the caller's among them.
/// Safe to call from inside a task: the caller always helps, so it cannot wait for itself. If check_interrupt() throws
/// on the caller's thread, `stop` is called, tasks that have not begun are left out, and what it threw is rethrown once
/// the others have ended.
void run_parallel(std::vector<std::function<void()>>& tasks, int num_threads, const std::function<void()>& stop = {});

/// A copy within host memory.
struct ByteCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t size = 0;
};

/// Makes copies that do not overlap, in pieces, on at most `num_threads` threads, or on those of `runner`.
void copy_parallel(std::span<const ByteCopy> copies, int num_threads, const TaskRunner& runner = {});

}  // namespace tricodec
