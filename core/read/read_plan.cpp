// SPDX-License-Identifier: Apache-2.0
#include "read/read_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ffmpeg/stream_info.h"
#include "tricodec/base/limits.h"

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

namespace {

// Reading every packet to find the key frames is cheap below this size. Above, the first frame would come late.
constexpr std::int64_t kIndexedBelowBytes = 64 << 20;
// Without an index one engine of several works, or one core where the codec has no threads.
constexpr std::int64_t kIndexedBelowBytesWithoutThreads = std::int64_t{4} << 30;
constexpr std::int64_t kAheadBytesPerWorker = 16 << 20;
constexpr std::int64_t kAheadBytesPerWorkerWithoutThreads = 64 << 20;

/// Note [Decoding ahead]: decoders that work on later GOP ranges wait once the memory for frames ahead is full. When n
/// decoders have fallen into step, each range becomes the next one every n-th part of the time that it takes, with
/// (n - 1) / n of its frames ready. Ranges go to several decoders only if that many frames fit. Otherwise one decoder
/// uses the cores by its own threads, if the codec has any (Note [Threads of a codec]).
bool worth_several_decoders(const IndexedVideo& video, const ReadPlan& plan) {
    if (video.num_workers() < 2 || plan.tasks.size() < 2) return false;
    if (video.num_threads() == 1) return true;
    std::size_t longest = 0;
    for (const auto& task : plan.tasks) longest = std::max(longest, task.ranges.front().wanted.size());
    const auto n = video.num_workers();
    const auto frames_ahead = static_cast<std::int64_t>(longest) * (n - 1) / n;
    return frames_ahead * frame_bytes(video.stream()) <= most_bytes_ahead(video) / (n - 1);
}

}  // namespace

ReadPlan plan_read(const IndexedVideo& video, const std::shared_ptr<const StreamIndex>& index,
                   std::span<const std::int64_t> numbers, bool resumable) {
    if (numbers.empty()) return {};
    auto* const slots = video.slots();
    auto plan = plan_fastest(*index, numbers,
                             {.max_tasks = video.num_workers(),
                              .num_cores = video.num_workers(),
                              .num_threads = video.num_threads(),
                              .num_slots = slots == nullptr ? 0 : slots->num_free()},
                             video.pool().resumes_at(index, numbers.front()));
    if (slots != nullptr) {
        plan.slots = slots;
        plan.num_decoders = video.num_gpu_decoders(num_packets(plan.tasks));
    }
    plan.resumable = resumable && plan.tasks.size() == 1;
    return plan;
}

ReadPlan plan_tasks(const IndexedVideo& video, const StreamIndex& index, std::span<const std::int64_t> numbers,
                    int max_tasks, int num_cores) {
    num_cores = std::min(num_cores == 0 ? video.num_workers() : num_cores, video.num_workers());
    const auto* slots = max_tasks > 1 ? video.slots() : nullptr;
    return plan_tasks(index, numbers,
                      {.max_tasks = max_tasks,
                       .num_cores = num_cores,
                       .num_threads = video.num_threads(num_cores),
                       .num_slots = slots == nullptr ? 0 : slots->num_slots()});
}

bool begins_without_index(const IndexedVideo& video, const FrameRange& selection) {
    if (video.has_index() || selection.start != 0 || selection.stride > 1) return false;
    const auto size_bytes = video.info().size_bytes;
    const auto large = video.num_threads() > 1 ? kIndexedBelowBytes : kIndexedBelowBytesWithoutThreads;
    const bool small = size_bytes >= 0 && size_bytes < large;
    const bool short_read = selection.count >= 0 && selection.count < 8;
    const bool has_headers = video.stream().parameters != nullptr && !video.info().elementary;
    return video.num_workers() < 2 || !small || !has_headers || short_read;
}

ReadPlan plan_ahead(const IndexedVideo& video, const StreamIndex& index, std::span<const std::int64_t> numbers) {
    ReadPlan plan;
    plan.slots = video.slots();
    if (plan.slots != nullptr) {
        plan.tasks = plan_for_slots(index, numbers, plan.slots->num_free());
        plan.num_decoders = video.num_gpu_decoders(num_packets(plan.tasks));
        return plan;
    }
    for (auto& range : plan_ranges(index, numbers)) {
        plan.tasks.emplace_back();
        plan.tasks.back().ranges.push_back(std::move(range));
    }
    plan.num_decoders = video.num_workers();
    return plan;
}

std::int64_t most_bytes_ahead(const IndexedVideo& video) {
    const auto each = video.num_threads() > 1 ? kAheadBytesPerWorker : kAheadBytesPerWorkerWithoutThreads;
    return std::min(limits().max_buffered_bytes, each * video.num_workers());
}

std::optional<ReadPlan> plan_frames_ahead(const IndexedVideo& video, const StreamIndex& index,
                                          std::span<const std::int64_t> numbers) {
    auto plan = plan_ahead(video, index, numbers);
    if (!worth_several_decoders(video, plan)) return std::nullopt;
    return plan;
}

/// As many decoders as can work on whole GOP ranges ahead of the one with the next batch.
BatchesPlan plan_batches(const IndexedVideo& video, const StreamIndex& index, std::span<const std::int64_t> numbers,
                         std::int64_t batch_bytes, std::int64_t frame_bytes) {
    BatchesPlan result;
    ReadPlan& plan = result.read;
    auto ranges = plan_ranges(index, numbers);
    if (ranges.empty()) return result;
    std::size_t longest = 1;
    for (const auto& range : ranges) longest = std::max(longest, range.wanted.size());
    const int num_workers = video.num_workers();
    auto& most_bytes = result.most_bytes;
    most_bytes = std::min(limits().max_buffered_bytes, std::max(kAheadBytesPerWorker * num_workers, 2 * batch_bytes));
    const auto range_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(longest) * frame_bytes);
    plan.num_decoders =
        static_cast<int>(std::clamp<std::int64_t>(1 + (most_bytes - batch_bytes) / range_bytes, 1, num_workers));
    if (plan.num_decoders == 1) {
        // One alone fills the next batch while the caller works on the one before.
        most_bytes = std::min(most_bytes, kAheadBytesPerWorker);
        plan.tasks.push_back({balance(std::move(ranges), 1).front(), video.num_threads()});
        return result;
    }
    // Cores that the last ranges leave free go to them.
    const auto num_decoders = static_cast<std::size_t>(plan.num_decoders);
    const auto rest = ranges.size() % num_decoders;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        const auto side_by_side = rest != 0 && r >= ranges.size() - rest ? rest : num_decoders;
        const int cores = std::max(1, num_workers / static_cast<int>(side_by_side));
        plan.tasks.push_back({{std::move(ranges[r])}, video.num_threads(cores)});
    }
    return result;
}

}  // namespace tricodec
