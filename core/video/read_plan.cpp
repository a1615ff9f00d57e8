// SPDX-License-Identifier: Apache-2.0
#include "video/read_plan.h"

#include <algorithm>

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

}  // namespace

std::int64_t ReadPlan::num_packets(std::size_t g) const {
    return tricodec::num_packets(groups[g]);
}

std::int64_t ReadPlan::num_packets() const {
    std::int64_t total = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) total += num_packets(g);
    return total;
}

ReadPlan plan_split(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources) {
    ReadPlan plan;
    auto segments = plan_segments(index, frames);
    if (resources.num_turns > 0) {
        const auto least = packets_a_turn(tricodec::num_packets(segments), resources.num_turns);
        for (auto& piece : join_short_segments(std::move(segments), least)) plan.groups.push_back({std::move(piece)});
    } else {
        plan.groups = group_segments(std::move(segments), std::max(1, resources.max_tasks));
    }
    const int num_groups = static_cast<int>(plan.groups.size());
    plan.options.num_threads = num_groups <= 1
                                   ? resources.num_threads
                                   : std::max(1, std::min(resources.num_threads, resources.num_cores / num_groups));
    return plan;
}

ReadPlan plan_read(const StreamIndex& index, std::span<const std::int64_t> frames, const ReadResources& resources,
                   std::int64_t resume_packet) {
    auto plan = plan_split(index, frames, resources);
    if (plan.groups.empty()) return plan;
    double longest = 0;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        longest = std::max(longest, static_cast<double>(plan.num_packets(g)));
    }
    Segment walk = joined(plan_segments(index, frames));
    const auto walked = static_cast<double>(walk.last - std::max(walk.entry, resume_packet) + 1);
    const bool walks = walked / speedup(resources.num_threads, resources.num_cores) <
                       longest / speedup(plan.options.num_threads, resources.num_cores);
    if (walks) {
        plan.groups = {{std::move(walk)}};
        plan.options.num_threads = resources.num_threads;
    }
    return plan;
}

}  // namespace tricodec
