// SPDX-License-Identifier: Apache-2.0
#include "read/frame_iterator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "read/video_plans.h"
#include "tricodec/base/interrupt.h"

namespace tricodec {

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
        if (!stale && !counted_none) break;
        // Where packets promise frames and none came, they are decoded by the index, which is stale then.
        stale ? video_.renumber(*index_) : video_.expect_frames();
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

FollowingRead::FollowingRead(IndexedVideo& video, std::int64_t first, Read::MakePlan make_plan, std::int64_t num_before)
    : video_(video),
      make_plan_(std::move(make_plan)),
      next_(first),
      num_given_(num_before),
      frames_(std::make_unique<SequentialRead>(video, [first] { return FrameRange{first}; })) {}

std::optional<Frame> FollowingRead::next() {
    if (make_plan_ != nullptr && num_given_ >= kFramesInOrder && !reads_ahead_) {
        reads_ahead_ = true;
        frames_ = nullptr;  // its decoder goes back to the pool first
        const auto resolve = [first = next_] { return FrameRange{first}; };
        frames_ = std::make_unique<FramesAhead>(video_, resolve, kMostBytes, make_plan_);
    }
    auto frame = frames_->next();
    if (!frame || frame->index != next_) return std::nullopt;
    ++next_;
    ++num_given_;
    return frame;
}

Read::MakePlan plan_following(IndexedVideo& video) {
    if (video.slots() == nullptr) return nullptr;
    return [&video](const std::shared_ptr<const StreamIndex>& index, std::span<const std::int64_t> numbers) {
        auto plan = plan_ahead(video, *index, numbers);
        plan.most_bytes = FollowingRead::kMostBytes;
        return plan;
    };
}

}  // namespace tricodec
