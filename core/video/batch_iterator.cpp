// SPDX-License-Identifier: Apache-2.0
#include "video/batch_iterator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "base/cuda/context.h"
#include "base/executor.h"
#include "base/stage_scope.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"
#include "video/unlike.h"

namespace tricodec {
namespace {

constexpr std::int64_t kAheadBytesPerWorker = 16 << 20;
constexpr std::chrono::milliseconds kLongestHandOver{30};

/// How many of the batches given out somebody still holds.
class Lent {
public:
    /// The same memory, counted until it is dropped.
    static std::shared_ptr<const void> watch(const std::shared_ptr<Lent>& lent, std::shared_ptr<const void> owner) {
        const void* const address = owner.get();
        lent->add(1);
        return {address, [lent, owner = std::move(owner)](const void*) mutable {
                    owner.reset();
                    lent->add(-1);
                }};
    }

    [[nodiscard]] bool at_most_one() { return await_at_most_one({}); }
    /// False where it took longer.
    bool await_at_most_one(std::chrono::milliseconds longest) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, longest, [&] { return count_ <= 1; });
    }

private:
    void add(int number) {
        const std::lock_guard lock(mutex_);
        count_ += number;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

/// Note [Batches ahead]: decoders write frames of later batches while earlier ones are given out. A batch's memory is
/// taken when its first frame comes; that waits while the batches not yet given out fill the bound, in which the batch
/// that is next always has room. Groups are started in order and give their frames in order, so that whatever the next
/// batch lacks is always being decoded by somebody who need not wait.
struct Job {
    Job(const Transform& wanted, std::int64_t size) : transform(wanted), batch_size(size) {}

    struct Batch {
        Tensor tensor;
        std::int64_t num_missing = 0;
    };
    struct Failure {
        std::int64_t position = 0;  // of the first frame that is not there
        bool mismatch = false;
        std::exception_ptr error;
    };
    struct Cancelled {};

    const Transform transform;
    const std::int64_t batch_size;
    std::vector<std::int64_t> shape;  // of a frame
    std::int64_t frame_bytes = 0;
    std::int64_t most_bytes = 0;
    int num_decoders = 1;
    int num_workers = 1;

    std::mutex mutex;
    std::condition_variable changed;
    std::shared_ptr<const StreamIndex> index;
    std::vector<std::int64_t> numbers;  // frames, ascending
    std::vector<Segment> groups;
    std::vector<std::int64_t> group_positions;  // of each group's first frame in `numbers`
    std::vector<Batch> batches;
    std::int64_t held_bytes = 0;
    std::size_t head = 0;  // the batch that is given out next
    std::size_t next_group = 0;
    int num_running = 0;
    bool cancelled = false;
    std::vector<Failure> failures;
    const std::shared_ptr<Lent> lent = std::make_shared<Lent>();
    bool keeps_batches = false;  // the caller does

    [[nodiscard]] std::int64_t size_of_batch(std::size_t b) const {
        const auto first = static_cast<std::int64_t>(b) * batch_size;
        return std::min(batch_size, static_cast<std::int64_t>(numbers.size()) - first);
    }

    /// The last batch takes a block of the size of the others, for which theirs can be used again.
    [[nodiscard]] std::int64_t frames_a_block() const {
        return std::min(batch_size, static_cast<std::int64_t>(numbers.size()));
    }
    [[nodiscard]] std::int64_t block_bytes() const { return frames_a_block() * frame_bytes; }

    /// Where frame number `position` of the read goes.
    TensorView place(std::int64_t position) {
        const auto b = static_cast<std::size_t>(position / batch_size);
        std::unique_lock lock(mutex);
        auto& batch = batches[b];
        await_room(lock, b);
        if (cancelled) throw Cancelled{};
        if (batch.tensor.view.data == nullptr) {
            auto whole = shape;
            whole.insert(whole.begin(), frames_a_block());
            batch.tensor = Tensor::empty(whole, transform.options().dtype);
            batch.tensor.view.shape[0] = size_of_batch(b);
            held_bytes += block_bytes();
        }
        return batch.tensor.view[position % batch_size];
    }

    void await_room(std::unique_lock<std::mutex>& lock, std::size_t b) {
        const auto has_memory = [&] { return cancelled || batches[b].tensor.view.data != nullptr; };
        const auto room = [&] {
            const bool head_lacks = batches[head].tensor.view.data == nullptr;
            return has_memory() || b == head || held_bytes + (head_lacks ? 2 : 1) * block_bytes() <= most_bytes;
        };
        // Few small batches ahead of one decoder are less than its pictures.
        const bool counts = num_decoders > 1 || 2 * block_bytes() > most_bytes;
        for (;;) {
            changed.wait(lock, room);
            if (has_memory() || !counts || keeps_batches || lent->at_most_one()) return;
            await_last_but_one(lock);
        }
    }

    /// Who goes through batches in a loop drops one a moment after having the next. That moment is waited for, so that
    /// its block can be used again, but not twice where it does not come: then they are kept.
    void await_last_but_one(std::unique_lock<std::mutex>& lock) {
        lock.unlock();
        const bool dropped = lent->await_at_most_one(kLongestHandOver);
        lock.lock();
        if (!dropped) keeps_batches = true;
    }

    /// Cores that no other group is left for go to the last ones.
    [[nodiscard]] int threads_of(const FrameReaderImpl& reader, std::size_t g) const {
        const auto decoders = static_cast<std::size_t>(num_decoders);
        const auto rest = groups.size() % decoders;
        const auto side_by_side = rest != 0 && g >= groups.size() - rest ? rest : decoders;
        return reader.num_threads(std::max(1, num_workers / static_cast<int>(side_by_side)));
    }

    void decode_group(FrameReaderImpl& reader, std::size_t g) {
        auto position = group_positions[g];
        Failure failure;
        try {
            reader.run(index, groups[g], {threads_of(reader, g)}, [&](Frame frame) {
                const auto slot = place(position);
                expect_alike(frame, transform, slot);
                transform(frame, slot);
                const std::lock_guard lock(mutex);
                if (--batches[static_cast<std::size_t>(position / batch_size)].num_missing == 0) changed.notify_all();
                ++position;
            });
        } catch (const Cancelled&) {
        } catch (const IndexMismatch&) {
            failure.mismatch = true;
        } catch (...) {
            failure.error = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        if (failure.mismatch || failure.error) {
            failure.position = position;
            failures.push_back(failure);
        } else if (next_group < groups.size() && !cancelled) {
            start_next(reader);
        }
        --num_running;
        changed.notify_all();
    }

    /// The mutex is held.
    void start_next(FrameReaderImpl& reader) {
        ++num_running;
        submit([this, &reader, g = next_group++] { decode_group(reader, g); });
    }
};

class BatchesOnCpu final : public FrameReader::BatchIterator {
public:
    BatchesOnCpu(FrameReaderImpl& reader, const FrameSelection& selection, std::int64_t batch_size,
                 const Transform& transform)
        : reader_(reader), selection_(selection), job_(transform, batch_size) {
        start(0);
    }
    ~BatchesOnCpu() override { cancel(); }

    std::optional<Tensor> next() override {
        for (;;) {
            std::unique_lock lock(job_.mutex);
            if (job_.head == job_.batches.size()) return std::nullopt;
            auto& batch = job_.batches[job_.head];
            const auto end = static_cast<std::int64_t>(job_.head) * job_.batch_size + job_.size_of_batch(job_.head);
            const auto failed = [&] {
                return std::find_if(job_.failures.begin(), job_.failures.end(),
                                    [&](const auto& failure) { return failure.position < end; });
            };
            {
                const StageScope scope(Stage::wait);
                job_.changed.wait(lock, [&] { return batch.num_missing == 0 || failed() != job_.failures.end(); });
            }
            if (batch.num_missing == 0) {
                job_.held_bytes -= job_.block_bytes();
                ++job_.head;
                job_.changed.notify_all();
                batch.tensor.owner = Lent::watch(job_.lent, std::move(batch.tensor.owner));
                return std::move(batch.tensor);
            }
            // Groups before the one that failed may fail too, at a lower frame: the same read fails with the same
            // words.
            job_.cancelled = true;
            job_.changed.notify_all();
            job_.changed.wait(lock, [&] { return job_.num_running == 0; });
            const auto first = *std::min_element(job_.failures.begin(), job_.failures.end(),
                                                 [](const auto& a, const auto& b) { return a.position < b.position; });
            const auto given = job_.head;
            lock.unlock();
            if (!first.mismatch) std::rethrow_exception(first.error);
            TRICODEC_EXPECT(!job_.index->scanned(), corrupt_data,
                            "frame " + std::to_string(job_.numbers[static_cast<std::size_t>(first.position)]) +
                                " could not be decoded again");
            reader_.rescan();
            start(given);
        }
    }

private:
    /// Plans the read and begins it after the first `given` batches.
    void start(std::size_t given) {
        job_.index = reader_.index();
        job_.numbers = reader_.select_clipped(selection_);
        const auto skipped = std::min(given * static_cast<std::size_t>(job_.batch_size), job_.numbers.size());
        const auto geometry = reader_.geometry();
        job_.shape = job_.transform.output_shape(geometry.width, geometry.height, geometry.orientation);
        job_.frame_bytes = static_cast<std::int64_t>(size_of(job_.transform.options().dtype));
        for (const auto side : job_.shape) job_.frame_bytes *= side;

        const auto num_frames = static_cast<std::int64_t>(job_.numbers.size());
        job_.batches.clear();
        job_.batches.resize(static_cast<std::size_t>((num_frames + job_.batch_size - 1) / job_.batch_size));
        for (std::size_t b = 0; b < job_.batches.size(); ++b) job_.batches[b].num_missing = job_.size_of_batch(b);
        job_.head = std::min(given, job_.batches.size());
        job_.held_bytes = 0;
        job_.failures.clear();
        job_.cancelled = false;
        job_.next_group = 0;
        plan(std::span(job_.numbers).subspan(skipped));
        job_.group_positions.clear();
        auto position = static_cast<std::int64_t>(skipped);
        for (const auto& group : job_.groups) {
            job_.group_positions.push_back(position);
            position += static_cast<std::int64_t>(group.wanted.size());
        }
        const std::lock_guard lock(job_.mutex);
        while (job_.next_group < std::min(job_.groups.size(), static_cast<std::size_t>(job_.num_decoders))) {
            job_.start_next(reader_);
        }
    }

    void plan(std::span<const std::int64_t> numbers) {
        job_.groups = plan_segments(*job_.index, numbers);
        std::size_t longest = 0;
        for (const auto& group : job_.groups) longest = std::max(longest, group.wanted.size());
        const int num_workers = reader_.num_workers();
        job_.num_workers = num_workers;
        const auto batch_bytes = job_.block_bytes();
        job_.most_bytes =
            std::min(limits().max_buffered_bytes, std::max(kAheadBytesPerWorker * num_workers, 2 * batch_bytes));
        // As many decoders as can work on whole groups ahead of the one whose batches are given out.
        const auto group_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(longest) * job_.frame_bytes);
        job_.num_decoders = static_cast<int>(
            std::clamp<std::int64_t>(1 + (job_.most_bytes - batch_bytes) / group_bytes, 1, num_workers));
        // One alone need not be ahead: it fills the next batch while the caller works on the one before.
        if (job_.num_decoders == 1) job_.most_bytes = std::min(job_.most_bytes, kAheadBytesPerWorker);
        if (job_.num_decoders > 1 || job_.groups.empty()) return;
        job_.groups = group_segments(std::move(job_.groups), 1).front();  // stretches that touch as one
    }

    void cancel() {
        std::unique_lock lock(job_.mutex);
        job_.cancelled = true;
        job_.changed.notify_all();
        job_.changed.wait(lock, [&] { return job_.num_running == 0; });
    }

    FrameReaderImpl& reader_;
    FrameSelection selection_;
    Job job_;
};

/// On a GPU frames are decoded ahead on its engines and wait in its memory; a batch is one launch, which the host does
/// not wait for.
class BatchesOnGpu final : public FrameReader::BatchIterator {
public:
    BatchesOnGpu(FrameReaderImpl& reader, const FrameSelection& selection, std::int64_t batch_size,
                 const Transform& transform)
        : device_(reader.device()),
          frames_(reader.iterate(selection)),
          batch_size_(static_cast<std::size_t>(batch_size)),
          transform_(transform),
          stream_(cuda::Context::of_caller(reader.context(), device_)) {}

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
        for (const auto& frame : frames) expect_alike(frame, transform_, batch.view[0]);
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

std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(FrameReaderImpl& reader,
                                                                const FrameSelection& selection,
                                                                std::int64_t batch_size, const Transform& transform) {
    TRICODEC_EXPECT(batch_size >= 1, invalid_argument,
                    "batch_size is " + std::to_string(batch_size) + "; it must be at least 1");
    if (reader.device().kind == Device::Kind::cuda) {
        return std::make_unique<BatchesOnGpu>(reader, selection, batch_size, transform);
    }
    return std::make_unique<BatchesOnCpu>(reader, selection, batch_size, transform);
}

}  // namespace tricodec
