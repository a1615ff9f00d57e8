// SPDX-License-Identifier: Apache-2.0
#include "read/read_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tricodec {
namespace {

constexpr std::int64_t kFewestPackets = 16;
constexpr std::int64_t kEnoughPackets = 48;
constexpr std::int64_t kTasksPerSlot = 3;

/// How many times faster `num_threads` threads of one decoder are than one: 1.63 to 1.74 with two on H.264 at 1080p.
double speedup(int num_threads, int num_cores) {
    return 1.0 + 0.7 * (std::min(num_threads, num_cores) - 1);
}

/// Pictures, each counted by the part of it that is done while a core decodes one.
double time_of(const DecodeTask& task, int num_cores) {
    double pictures = 0;
    for (const auto& range : task.ranges) pictures += static_cast<double>(range.num_decoded);
    return pictures / speedup(task.num_threads, num_cores);
}

double longest(const std::vector<DecodeTask>& tasks, int num_cores) {
    double time = 0;
    for (const auto& task : tasks) time = std::max(time, time_of(task, num_cores));
    return time;
}

std::vector<DecodeTask> balanced_tasks(std::vector<GopRange> ranges, int max_tasks) {
    std::vector<DecodeTask> tasks;
    for (auto& list : balance(std::move(ranges), std::max(1, max_tasks))) tasks.push_back({std::move(list)});
    return tasks;
}

/// Balanced lists, then the ranges that are too few for all cores, each with its part of them. Empty where that cannot
/// be the fastest plan.
std::vector<DecodeTask> with_threads_at_the_end(std::vector<GopRange> ranges, const ReadResources& resources,
                                                double& time) {
    constexpr std::size_t kMostRangesPerTask = 8;  // of more ranges, the last ones are too small a part
    const auto num_tasks = static_cast<std::size_t>(resources.max_tasks);
    const std::size_t num_last = ranges.size() % num_tasks;
    if (ranges.size() < num_tasks || ranges.size() > kMostRangesPerTask * num_tasks || num_last == 0) return {};
    const int cores = resources.num_cores / static_cast<int>(num_last);
    if (cores < 2 || resources.num_threads < 2) return {};
    std::vector<GopRange> last(std::make_move_iterator(ranges.end() - static_cast<std::ptrdiff_t>(num_last)),
                               std::make_move_iterator(ranges.end()));
    ranges.resize(ranges.size() - num_last);
    auto tasks = balanced_tasks(std::move(ranges), resources.max_tasks);
    time = longest(tasks, 1);
    const int extra = std::max(1, resources.num_threads - resources.num_cores);
    double time_of_last = 0;
    for (auto& range : last) {
        tasks.push_back({{std::move(range)}, std::min(resources.num_threads, cores + extra)});
        time_of_last = std::max(time_of_last, time_of(tasks.back(), cores));
    }
    time += time_of_last;
    return tasks;
}

}  // namespace

std::int64_t num_packets(std::span<const DecodeTask> tasks) noexcept {
    std::int64_t total = 0;
    for (const auto& task : tasks) total += task.num_packets();
    return total;
}

ReadPlan plan_tasks(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources) {
    ReadPlan plan;
    plan.tasks = resources.num_slots > 0 ? plan_for_slots(index, frames, resources.num_slots)
                                         : balanced_tasks(plan_ranges(index, frames), resources.max_tasks);
    const int num_tasks = static_cast<int>(plan.tasks.size());
    const int num_threads = num_tasks <= 1
                                ? resources.num_threads
                                : std::max(1, std::min(resources.num_threads, resources.num_cores / num_tasks));
    for (auto& task : plan.tasks) task.num_threads = num_threads;
    plan.num_decoders = resources.max_tasks;
    return plan;
}

ReadPlan plan_fastest(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources,
                      std::int64_t resume_packet) {
    auto plan = plan_tasks(index, frames, resources);
    if (plan.tasks.empty()) return plan;
    double time = longest(plan.tasks, resources.num_cores);
    auto ranges = plan_ranges(index, frames);
    if (resources.num_slots == 0) {
        constexpr double kWorthwhile = 0.95;  // each decoder more is memory
        double staged_time = 0;
        auto staged = with_threads_at_the_end(ranges, resources, staged_time);
        if (!staged.empty() && staged_time < kWorthwhile * time) {
            plan.tasks = std::move(staged);
            time = staged_time;
        }
    }
    GopRange walk = join_all(index, std::move(ranges));
    walk.num_decoded = count_decoded(index, walk, std::max(walk.entry, resume_packet));
    DecodeTask alone{{std::move(walk)}, resources.num_threads};
    if (time_of(alone, resources.num_cores) < time) {
        plan.tasks.clear();
        plan.tasks.push_back(std::move(alone));
    }
    return plan;
}

std::vector<DecodeTask> plan_for_slots(const StreamIndex& index, std::span<const std::int64_t> frames, int num_slots) {
    auto ranges = plan_ranges(index, frames);
    const auto least = std::clamp(num_packets(ranges) / (kTasksPerSlot * num_slots), kFewestPackets, kEnoughPackets);
    std::vector<DecodeTask> tasks;
    for (auto& range : join_short_ranges(std::move(ranges), least)) {
        tasks.emplace_back();
        tasks.back().ranges.push_back(std::move(range));
    }
    return tasks;
}

}  // namespace tricodec
