// SPDX-License-Identifier: Apache-2.0
#include "read/iterators.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "base/cuda/context.h"
#include "read/read_plan.h"
#include "read/read_scheduler.h"
#include "read/slot_sinks.h"
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

namespace {

/// Batches that are being written, or wait for their consumer.
///
/// Note [Batches ahead]: a batch takes its memory when its first frame comes. Frames of later batches wait while the
/// batches that the consumer does not have yet fill the bound, in which the next batch always has its part.
class BatchQueue final : public FrameSink {
public:
    using Shape = std::function<std::vector<std::int64_t>()>;

    BatchQueue(Transform transform, std::int64_t batch_size, Shape shape)
        : transform_(std::move(transform)), batch_size_(batch_size), shape_of_frames_(std::move(shape)) {
        set_shape();
    }

    void set_bound(std::int64_t num_frames, std::int64_t most_bytes) {
        const std::lock_guard lock(mutex_);
        num_frames_ = num_frames;
        most_bytes_ = most_bytes;
    }
    [[nodiscard]] std::int64_t frame_bytes() const noexcept { return frame_bytes_; }
    [[nodiscard]] std::int64_t batch_bytes(std::int64_t num_frames) const noexcept {
        return std::min(batch_size_, num_frames) * frame_bytes_;
    }

    void put(std::int64_t position, Frame frame) override {
        const auto slot = slot_of(position);
        expect_fits(frame, transform_, slot);
        transform_(frame, slot);
    }
    bool make_room(std::int64_t position) override {
        const std::lock_guard lock(mutex_);
        const auto b = position / batch_size_;
        if (batches_.contains(b)) return true;
        const auto held = static_cast<std::int64_t>(batches_.size()) + (batches_.contains(head_) ? 0 : 1);
        if ((held + 1) * batch_bytes(num_frames_) > most_bytes_) return false;
        (void)batch(b);
        return true;
    }
    void restart(std::int64_t position, std::int64_t count) override {
        if (position == 0) set_shape();
        const std::lock_guard lock(mutex_);
        batches_.erase(batches_.lower_bound(position / batch_size_), batches_.end());
        num_frames_ = count;
    }
    Tensor take(std::int64_t b) {
        const std::lock_guard lock(mutex_);
        head_ = b + 1;
        return std::move(batches_.extract(b).mapped());
    }

private:
    void set_shape() {
        shape_ = shape_of_frames_();
        frame_bytes_ = static_cast<std::int64_t>(size_of(transform_.options().dtype));
        for (const auto side : shape_) frame_bytes_ *= side;
    }
    TensorView slot_of(std::int64_t position) {
        const std::lock_guard lock(mutex_);
        return batch(position / batch_size_).view[position % batch_size_];
    }
    /// The mutex is held. The last batch takes a block of the size of the others, which can be used again for it.
    Tensor& batch(std::int64_t b) {
        auto& tensor = batches_[b];
        if (tensor.view.data == nullptr) {
            auto whole = shape_;
            whole.insert(whole.begin(), std::min(batch_size_, num_frames_));
            tensor = Tensor::empty(whole, transform_.options().dtype);
            tensor.view.shape[0] = std::min(batch_size_, num_frames_ - b * batch_size_);
        }
        return tensor;
    }

    const Transform transform_;
    const std::int64_t batch_size_;
    const Shape shape_of_frames_;
    std::vector<std::int64_t> shape_;
    std::int64_t frame_bytes_ = 0;
    std::mutex mutex_;
    std::int64_t num_frames_ = 0;
    std::int64_t most_bytes_ = 0;
    std::map<std::int64_t, Tensor> batches_;
    std::int64_t head_ = 0;  // the batch that the consumer takes next
};

class BatchesOnCpu final : public FrameReader::BatchIterator {
public:
    BatchesOnCpu(IndexedVideo& video, ResolveSelection resolve, std::int64_t batch_size, const Transform& transform,
                 BatchQueue::Shape shape)
        : queue_(transform, batch_size, std::move(shape)),
          batch_size_(batch_size),
          read_(Read::make(
              video, queue_,
              [this, &video, resolve = std::move(resolve)] {
                  if (next_ == 0) selection_ = resolve();
                  auto numbers = clipped_numbers(selection_, video.index()->num_frames());
                  num_frames_ = static_cast<std::int64_t>(numbers.size());
                  return numbers;
              },
              [this, &video](const auto& index, std::span<const std::int64_t> numbers) {
                  auto plan =
                      plan_batches(video, *index, numbers, queue_.batch_bytes(num_frames_), queue_.frame_bytes());
                  queue_.set_bound(num_frames_, plan.most_bytes);
                  return std::move(plan.read);
              })) {
        (void)read_->await(0, 0, batch_size_);  // begins to decode
    }
    ~BatchesOnCpu() override { read_->cancel(); }

    std::optional<Tensor> next() override {
        const auto begin = next_ * batch_size_;
        const auto end = begin + batch_size_;
        if (read_->await(begin, end, end) <= begin) return std::nullopt;
        auto batch = queue_.take(next_++);
        (void)read_->await(end, end, end + batch_size_);  // decoders fill the next one while the caller has this one
        return batch;
    }

private:
    BatchQueue queue_;
    const std::int64_t batch_size_;
    FrameRange selection_{};
    std::int64_t num_frames_ = 0;
    std::int64_t next_ = 0;  // batch
    std::shared_ptr<Read> read_;
};

/// On a GPU frames are decoded ahead on its engines and wait in its memory. A batch is one launch, which the host does
/// not wait for.
class BatchesOnGpu final : public FrameReader::BatchIterator {
public:
    BatchesOnGpu(const IndexedVideo& video, std::unique_ptr<FrameReader::Iterator> frames, std::int64_t batch_size,
                 const Transform& transform)
        : device_(video.pool().device()),
          frames_(std::move(frames)),
          batch_size_(static_cast<std::size_t>(batch_size)),
          transform_(transform),
          stream_(cuda::Context::of_caller(video.context(), device_)) {}

    std::optional<Tensor> next() override {
        std::vector<Frame> frames;
        while (frames.size() < batch_size_) {
            const auto frame = frames_->next();
            if (!frame) break;
            frames.push_back(to_device(*frame, device_, stream_));
        }
        if (frames.empty()) return std::nullopt;
        const auto& first = frames.front();
        auto shape = transform_.output_shape(first.width, first.height, first.orientation);
        shape.insert(shape.begin(), static_cast<std::int64_t>(frames.size()));
        auto batch = Tensor::empty(shape, transform_.options().dtype, device_, stream_);
        for (const auto& frame : frames) expect_fits(frame, transform_, batch.view[0]);
        transform_(frames, batch.view, stream_);
        batch.buffer->written_on(stream_);
        return batch;
    }

private:
    Device device_;
    std::unique_ptr<FrameReader::Iterator> frames_;
    std::size_t batch_size_;
    Transform transform_;
    cuda::Stream stream_;
};

}  // namespace

std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(IndexedVideo& video, ResolveSelection resolve,
                                                                std::int64_t batch_size, const Transform& transform,
                                                                std::function<std::vector<std::int64_t>()> shape) {
    return std::make_unique<BatchesOnCpu>(video, std::move(resolve), batch_size, transform, std::move(shape));
}

std::unique_ptr<FrameReader::BatchIterator> batch_frames(const IndexedVideo& video,
                                                         std::unique_ptr<FrameReader::Iterator> frames,
                                                         std::int64_t batch_size, const Transform& transform) {
    return std::make_unique<BatchesOnGpu>(video, std::move(frames), batch_size, transform);
}

}  // namespace tricodec
