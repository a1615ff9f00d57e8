// SPDX-License-Identifier: Apache-2.0
#include "video/read_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "video/needed_packets.h"

namespace tricodec {
namespace {

/// How many times faster `num_threads` threads of one decoder are than one: 1.63 to 1.74 with two on H.264 at 1080p.
double speedup(int num_threads, int num_cores) {
    return 1.0 + 0.7 * (std::min(num_threads, num_cores) - 1);
}

Segment joined(const std::vector<Segment>& segments) {
    Segment walk = segments.front();
    for (auto it = segments.begin() + 1; it != segments.end(); ++it) {
        walk.last = std::max(walk.last, it->last);
        walk.wanted.insert(walk.wanted.end(), it->wanted.begin(), it->wanted.end());
    }
    return walk;
}

/// Pictures, each counted by the part of it that is done while a core decodes one.
double time_of(const ReadPlan::Group& group, int num_cores) {
    double pictures = 0;
    for (const auto& segment : group.segments) pictures += static_cast<double>(segment.num_decoded);
    return pictures / speedup(group.num_threads, num_cores);
}

double longest(const ReadPlan& plan, int num_cores) {
    double time = 0;
    for (const auto& group : plan.groups) time = std::max(time, time_of(group, num_cores));
    return time;
}

/// Lists for all cores, and one segment after another for what they would otherwise end unevenly with.
struct Staged {
    ReadPlan plan;
    double time = 0;
};

/// `num_last` neighbors of `segments`, from `at` on, at the end, where each has its part of the cores.
Staged staged_from(std::vector<Segment> segments, std::size_t at, std::size_t num_last,
                   const ReadResources& resources) {
    const auto begin = segments.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(num_last);
    std::vector<Segment> last(std::make_move_iterator(begin), std::make_move_iterator(end));
    segments.erase(begin, end);
    Staged staged;
    for (auto& list : group_segments(std::move(segments), resources.max_tasks)) {
        staged.plan.groups.push_back({std::move(list)});
    }
    staged.time = longest(staged.plan, 1);
    const int cores = resources.num_cores / static_cast<int>(num_last);
    const int num_threads = cores + std::max(1, resources.num_threads - resources.num_cores);
    double time_of_last = 0;
    for (auto& segment : last) {
        staged.plan.groups.push_back({{std::move(segment)}, std::min(resources.num_threads, num_threads)});
        time_of_last = std::max(time_of_last, time_of(staged.plan.groups.back(), cores));
    }
    staged.time += time_of_last;
    return staged;
}

/// The best of them; nothing to try, and an endless time, where there are so many segments that it makes no odds.
Staged plan_staged(const std::vector<Segment>& segments, const ReadResources& resources) {
    constexpr std::size_t kMostSegmentsPerTask = 8;
    Staged best{{}, std::numeric_limits<double>::infinity()};
    const auto num_tasks = static_cast<std::size_t>(resources.max_tasks);
    const std::size_t num_last = segments.size() % num_tasks;
    const bool few = segments.size() > num_tasks && segments.size() <= kMostSegmentsPerTask * num_tasks;
    if (!few || num_last == 0 || resources.num_cores / num_last < 2 || resources.num_threads < 2) return best;
    for (std::size_t at = 0; at + num_last <= segments.size(); ++at) {
        auto staged = staged_from(segments, at, num_last, resources);
        if (staged.time < best.time) best = std::move(staged);
    }
    return best;
}

}  // namespace

std::int64_t ReadPlan::Group::num_packets() const {
    return tricodec::num_packets(segments);
}

std::int64_t ReadPlan::num_packets() const {
    std::int64_t total = 0;
    for (const auto& group : groups) total += group.num_packets();
    return total;
}

ReadPlan plan_split(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources) {
    ReadPlan plan;
    auto segments = plan_segments(index, frames);
    if (resources.num_turns > 0) {
        const auto least = packets_a_turn(tricodec::num_packets(segments), resources.num_turns);
        for (auto& piece : join_short_segments(std::move(segments), least)) plan.groups.push_back({{std::move(piece)}});
    } else {
        for (auto& list : group_segments(std::move(segments), std::max(1, resources.max_tasks))) {
            plan.groups.push_back({std::move(list)});
        }
    }
    const int num_groups = static_cast<int>(plan.groups.size());
    const int num_threads = num_groups <= 1
                                ? resources.num_threads
                                : std::max(1, std::min(resources.num_threads, resources.num_cores / num_groups));
    for (auto& group : plan.groups) group.num_threads = num_threads;
    return plan;
}

ReadPlan plan_read(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources,
                   std::int64_t resume_packet) {
    auto plan = plan_split(index, frames, resources);
    if (plan.groups.empty()) return plan;
    double time = longest(plan, resources.num_cores);
    const auto segments = plan_segments(index, frames);
    if (resources.num_turns == 0) {
        constexpr double kWorthwhile = 0.95;  // each decoder more is memory
        auto staged = plan_staged(segments, resources);
        if (staged.time < kWorthwhile * time) {
            plan = std::move(staged.plan);
            time = staged.time;
        }
    }
    Segment walk = joined(segments);
    walk.num_decoded = count_decoded(index, walk, std::max(walk.entry, resume_packet));
    ReadPlan::Group alone{{std::move(walk)}, resources.num_threads};
    if (time_of(alone, resources.num_cores) < time) plan.groups = {std::move(alone)};
    return plan;
}

}  // namespace tricodec
