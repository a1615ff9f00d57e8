// SPDX-License-Identifier: Apache-2.0
#include "compress/runs.h"

#include <algorithm>
#include <atomic>

namespace tricodec::compress {
namespace {
constexpr std::uint64_t kLargestRunBytes = 256 << 10;  // stays in a core's cache
constexpr std::uint64_t kSmallestRunBytes = 64 << 10;
constexpr std::uint64_t kRunsPerThread = 8;
}  // namespace

std::unique_ptr<ChunkWorker> WorkerPool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto worker = std::move(idle_.back());
            idle_.pop_back();
            return worker;
        }
    }
    return codec_->make_worker();
}

void WorkerPool::give_back(std::unique_ptr<ChunkWorker> worker) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(worker));
    } catch (...) {
        // No memory to remember it: it ends here.
    }
}

std::vector<Run> cut_into_runs(std::span<const Chunks> items, int num_threads) {
    std::uint64_t total = 0;
    for (const Chunks& item : items) total += item.total_bytes;
    const std::uint64_t wanted = std::clamp(total / (static_cast<std::uint64_t>(num_threads) * kRunsPerThread),
                                            kSmallestRunBytes, kLargestRunBytes);
    std::vector<Run> runs;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::uint64_t step =
            std::max<std::uint64_t>(1, wanted / std::max<std::uint64_t>(1, items[i].chunk_bytes));
        for (std::uint64_t first = 0; first < items[i].count; first += step) {
            runs.push_back({i, first, std::min(step, items[i].count - first)});
        }
    }
    return runs;
}

void for_each_run(std::size_t count, int num_threads, const TaskRunner& runner,
                  const std::function<void(std::size_t)>& task) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    const auto work = [&] {
        while (!failed.load(std::memory_order_relaxed)) {
            const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= count) return;
            try {
                task(i);
            } catch (...) {
                failed = true;
                throw;
            }
        }
    };
    const auto num_tasks = std::min<std::size_t>(count, static_cast<std::size_t>(std::max(1, num_threads)));
    if (num_tasks <= 1 && !runner) return work();
    std::vector<std::function<void()>> tasks(num_tasks, work);
    if (runner) {
        runner(tasks);
    } else {
        run_parallel(tasks, static_cast<int>(num_tasks));
    }
}

}  // namespace tricodec::compress
