// SPDX-License-Identifier: Apache-2.0
#include "compress/runs.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/bytes.h"
#include "compress/container.h"
#include "tricodec/base/interrupt.h"

namespace tricodec::compress {
namespace {
constexpr std::uint64_t kLargestRunBytes = 256 << 10;  // stays in a core's cache
constexpr std::uint64_t kSmallestRunBytes = 64 << 10;
constexpr std::uint64_t kRunsPerThread = 8;
}  // namespace

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
                check_interrupt();
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

Packing::Target Packing::start(std::size_t run, std::size_t worst_bytes) {
    Target target;
    {
        const std::lock_guard lock(mutex_);
        if (run == next_) {
            target.place_ = room_.data() + start_;
            return target;
        }
        const auto fits = std::find_if(spare_.begin(), spare_.end(),
                                       [&](const auto& buffer) { return buffer->size_bytes() >= worst_bytes; });
        if (fits != spare_.end()) {
            target.buffer_ = std::move(*fits);
            spare_.erase(fits);
            return target;
        }
    }
    target.buffer_ = Buffer::allocate(worst_bytes);
    return target;
}

void Packing::finish(std::size_t run, Target target, std::size_t size_bytes) {
    std::vector<Move> moves;
    {
        const std::lock_guard lock(mutex_);
        sizes_[run] = size_bytes;
        if (target.buffer_) waiting_.push_back({run, std::move(target.buffer_)});
        moves = advance();
    }
    if (moves.empty()) return;
    for (const Move& move : moves) std::memcpy(move.to, move.from->data(), move.size);
    const std::lock_guard lock(mutex_);
    for (Move& move : moves) spare_.push_back(std::move(move.from));
}

std::vector<Packing::Move> Packing::advance() {
    std::vector<Move> moves;
    while (next_ < sizes_.size() && sizes_[next_] != kUnknown) {
        // Alignment gaps are part of the stream, so they are zeros.
        std::memset(room_.data() + end_, 0, start_ - end_);
        const auto waiting =
            std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& entry) { return entry.run == next_; });
        if (waiting != waiting_.end()) {
            moves.push_back({room_.data() + start_, std::move(waiting->buffer), sizes_[next_]});
            waiting_.erase(waiting);
        }
        end_ = start_ + sizes_[next_];
        start_ = align_up(end_, kChunkAlignment);
        ++next_;
    }
    return moves;
}

}  // namespace tricodec::compress
