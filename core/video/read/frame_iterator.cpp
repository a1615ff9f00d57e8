// SPDX-License-Identifier: Apache-2.0
#include "video/read/frame_iterator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

// Reading every packet to find the key frames is cheap below this size. Above, the first frame would come late.
constexpr std::int64_t kIndexedBelowBytes = 64 << 20;
// Without an index one engine of several works, or one core where the codec has no threads.
constexpr std::int64_t kIndexedBelowBytesWithoutThreads = std::int64_t{4} << 30;
constexpr std::int64_t kFramesNeeded = 4;  // that may be ready, whatever the memory bound
constexpr std::int64_t kAheadBytesPerWorker = 16 << 20;
constexpr std::int64_t kAheadBytesPerWorkerWithoutThreads = 64 << 20;

ReadPlan plan_ahead(const IndexedVideo& video, const StreamIndex& index, std::span<const std::int64_t> numbers) {
    ReadPlan plan;
    plan.slots = video.slots();
    if (plan.slots != nullptr) {
        plan.tasks = plan_for_slots(index, numbers, plan.slots->num_slots());
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

void FrameQueue::put(std::int64_t position, Frame frame) {
    const std::lock_guard lock(mutex_);
    held_bytes_ += frame.size_bytes();
    frames_.emplace(position, std::move(frame));
}

bool FrameQueue::make_room(std::int64_t /*position*/) {
    const std::lock_guard lock(mutex_);
    return held_bytes_ < most_bytes_;
}

void FrameQueue::restart(std::int64_t position, std::int64_t /*count*/) {
    const std::lock_guard lock(mutex_);
    const auto first = frames_.lower_bound(position);
    for (auto it = first; it != frames_.end(); ++it) held_bytes_ -= it->second.size_bytes();
    frames_.erase(first, frames_.end());
}

Frame FrameQueue::take(std::int64_t position) {
    const std::lock_guard lock(mutex_);
    auto frame = std::move(frames_.extract(position).mapped());
    held_bytes_ -= frame.size_bytes();
    return frame;
}

FramesAhead::FramesAhead(IndexedVideo& video, ResolveSelection resolve, std::int64_t most_bytes,
                         Read::MakePlan make_plan)
    : queue_(most_bytes),
      read_(Read::make(
          video, queue_,
          [this, &video, resolve = std::move(resolve)] {
              if (next_ == 0) selection_ = resolve();
              return clipped_numbers(selection_, video.index()->num_frames());
          },
          std::move(make_plan))) {}

std::optional<Frame> FramesAhead::next() {
    if (read_->await(next_, next_ + 1, next_ + kFramesNeeded) <= next_) return std::nullopt;
    return queue_.take(next_++);
}

std::optional<Frame> SequentialRead::next() {
    while (left_ != 0) {
        const bool may_seek = !decoder_ || (!decoder_->indexed() && video_.has_index());
        if (may_seek && !open()) break;
        while (auto frame = next_of_decoder()) {
            if (frame->index < next_) continue;  // frames are counted, and this one is between two that are wanted
            gave_ = true;
            if (left_ > 0) --left_;
            if (stride_ > std::numeric_limits<std::int64_t>::max() - next_) left_ = 0;
            if (left_ != 0) next_ += stride_;
            return frame;
        }
        const bool stale = decoder_->stale();
        const bool counted_none = !gave_ && !decoder_->indexed();
        decoder_ = nullptr;
        if (stale) {
            video_.renumber(*index_);
        } else if (counted_none) {
            video_.expect_frames();  // where packets promise some, they are decoded by the index, which is stale then
        } else {
            break;
        }
    }
    left_ = 0;
    decoder_ = nullptr;
    return std::nullopt;
}

std::optional<Frame> SequentialRead::next_of_decoder() {
    try {
        return decoder_->next();
    } catch (...) {
        if (is_interrupted()) decoder_ = nullptr;  // a later call continues with the same frame
        throw;
    }
}

bool SequentialRead::open() {
    decoder_ = nullptr;  // back to the pool first: it may be the one that is taken next
    if (next_ == 0 && !video_.has_index()) {
        index_ = nullptr;
        decoder_.reset(new RangeDecoder(video_.decode_from_start(num_threads_)));
        return true;
    }
    if (!gave_) next_ = resolve_().start;
    std::vector<std::int64_t> numbers;
    std::shared_ptr<const StreamIndex> known;
    do {
        known = video_.index();
        numbers = clipped_numbers({next_, stride_, left_}, known->num_frames());
        index_ = video_.index_for(numbers);
    } while (!index_->numbers_as(*known));
    if (numbers.empty()) return false;
    const RangeDecoder::Options options{.num_threads = num_threads_};
    decoder_.reset(new RangeDecoder(video_.decode(index_, join_all(*index_, plan_ranges(*index_, numbers)), options)));
    return true;
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

std::unique_ptr<FrameReader::Iterator> make_frame_iterator(IndexedVideo& video, ResolveSelection resolve) {
    const auto selection = resolve();
    if (!begins_without_index(video, selection)) {
        const auto index = video.index();
        const auto plan = [&video](const auto& known, std::span<const std::int64_t> numbers) {
            return plan_ahead(video, *known, numbers);
        };
        if (plan_frames_ahead(video, *index, clipped_numbers(selection, index->num_frames()))) {
            return std::make_unique<FramesAhead>(video, std::move(resolve), most_bytes_ahead(video), plan);
        }
    }
    return std::make_unique<SequentialRead>(video, std::move(resolve));
}

}  // namespace tricodec
