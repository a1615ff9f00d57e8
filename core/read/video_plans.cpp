// SPDX-License-Identifier: Apache-2.0
#include "read/video_plans.h"

#include <algorithm>
#include <utility>

#include "ffmpeg/stream_info.h"
#include "tricodec/base/limits.h"

namespace tricodec {
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
