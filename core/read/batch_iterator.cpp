// SPDX-License-Identifier: Apache-2.0
#include "read/batch_iterator.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/cuda/context.h"
#include "read/read_scheduler.h"
#include "read/slot_sinks.h"
#include "read/video_plans.h"

namespace tricodec {
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
