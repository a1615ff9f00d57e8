// SPDX-License-Identifier: Apache-2.0
/// The reads of FrameReader that write into memory of the caller's.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "base/cuda/thread_stream.h"
#include "tricodec/engines.h"
#include "tricodec/error.h"
#include "video/device_batch.h"
#include "video/engine_iterator.h"
#include "video/frame_numbers.h"
#include "video/frame_reader_impl.h"
#include "video/unlike.h"

namespace tricodec {
namespace {

/// Frames through a Transform to their places in an output. Thread safety: write() from several threads; the rest when
/// no write() runs.
class BatchWriter {
public:
    BatchWriter(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream)
        : transform_(std::move(transform)), out_(std::move(out)), on_gpu_(transform_, out_, context, stream) {}

    void write(std::int64_t slot, const Frame& frame) {
        const auto place = out_[slot];
        if (!is_alike(frame, transform_, place)) {
            std::lock_guard lock(mutex_);
            unlike_.emplace(frame.index, unlike_the_others(frame, place));
            return;
        }
        if (frame.device == Device{} && place.device == Device{}) return transform_(frame, place);
        on_gpu_.add(slot, frame);
    }

    /// What was noted under numbers that did not hold is forgotten.
    void restart() {
        unlike_.clear();
        on_gpu_.clear();
    }

    void finish() {
        on_gpu_.finish();
        // The lowest one, whichever task met one first: the same request fails with the same words.
        if (!unlike_.empty()) fail(ErrorCode::unsupported, unlike_.begin()->second);
    }

private:
    Transform transform_;
    TensorView out_;
    DeviceBatch on_gpu_;
    std::mutex mutex_;
    std::map<std::int64_t, std::string> unlike_;  // frames that do not fit their slots
};

}  // namespace

Tensor FrameReaderImpl::batch(const FrameSelection& selection, const Transform& transform) {
    const bool all = selection.start == 0 && selection.stride == 1 && selection.count < 0;
    if (all && !index_ && num_turns() > 0) {
        if (auto whole = batch_while_indexing(selection, transform)) return std::move(*whole);
    }
    return batch(select(selection), transform);
}

std::optional<Tensor> FrameReaderImpl::batch_while_indexing(const FrameSelection& selection,
                                                            const Transform& transform) {
    const auto first = geometry();
    const auto frames = make_engine_iterator(*this, selection, engine_queue(), num_decoders(), FrameOrder::any);
    if (!frames) return std::nullopt;
    auto shape = transform.output_shape(first.width, first.height, first.orientation);
    shape.insert(shape.begin(), num_frames());
    const auto stream = cuda::thread_stream(cuda::Context::of_caller(context_, device()));
    auto result = Tensor::empty(shape, transform.options().dtype, device(), stream);
    try {
        BatchWriter writer(transform, result.view, context_, stream);
        while (const auto frame = frames->next()) writer.write(frame->index, *frame);
        writer.finish();
    } catch (const IndexMismatch&) {
        return std::nullopt;
    }
    result.buffer->written_on(stream);
    last_given_ = num_frames() - 1;
    return result;
}

Tensor FrameReaderImpl::batch(std::span<const std::int64_t> indices, const Transform& transform) {
    const auto first = geometry();
    auto shape = transform.output_shape(first.width, first.height, first.orientation);
    shape.insert(shape.begin(), static_cast<std::int64_t>(indices.size()));
    const auto where = device();
    if (where.kind == Device::Kind::cpu) {
        auto result = Tensor::empty(shape, transform.options().dtype);
        batch_into(indices, transform, result.view, std::nullopt);
        return result;
    }
    const auto stream = cuda::thread_stream(cuda::Context::of_caller(context_, where));
    auto result = Tensor::empty(shape, transform.options().dtype, where, stream);
    batch_into(indices, transform, result.view, stream);
    result.buffer->written_on(stream);
    return result;
}

void FrameReaderImpl::batch_into(std::span<const std::int64_t> indices, const Transform& transform,
                                 const TensorView& out, std::optional<StreamView> stream) {
    const auto plan = plan_transform(
        {{{indices.begin(), indices.end()}, transform, out}}, stream,
        [this](std::span<const std::int64_t> numbers) { return plan_own_read(numbers, goes_on(numbers)); });
    run_tasks(plan.tasks, static_cast<std::int64_t>(std::accumulate(plan.costs.begin(), plan.costs.end(), 0.0)));
    plan.finish();
    if (!indices.empty()) last_given_ = checked(indices.back());
}

FrameReader::Plan FrameReader::plan_batch(std::span<const std::int64_t> indices, const Transform& transform,
                                          const TensorView& out, int max_tasks, std::optional<StreamView> stream) {
    return plan_parts({{{indices.begin(), indices.end()}, transform, out}}, {.max_tasks = max_tasks, .stream = stream});
}

FrameReader::Plan FrameReaderImpl::plan_parts(std::vector<Part> parts, const PlanOptions& options) {
    return plan_transform(std::move(parts), options.stream,
                          [&](std::span<const std::int64_t> numbers) { return plan_tasks(numbers, options); });
}

ReadPlan FrameReaderImpl::plan_tasks(std::span<const std::int64_t> numbers, const PlanOptions& options) {
    const int num_cores = options.num_cores == 0 ? num_workers_ : std::min(options.num_cores, num_workers_);
    auto plan = plan_split(*index(), numbers,
                           {.max_tasks = options.max_tasks,
                            .num_cores = num_cores,
                            .num_threads = num_threads(num_cores),
                            .num_turns = options.max_tasks > 1 ? num_turns() : 0});
    plan.goes_on = options.goes_on;
    return plan;
}

FrameReader::Plan FrameReaderImpl::plan_transform(std::vector<Part> parts, std::optional<StreamView> stream,
                                                  const MakePlan& make_plan) {
    struct Place {
        BatchWriter* writer;
        std::int64_t slot;
    };
    struct Outputs {
        std::vector<std::unique_ptr<BatchWriter>> writers;
        std::vector<Place> places;
    };
    const auto outputs = std::make_shared<Outputs>();
    std::vector<std::int64_t> indices;
    for (auto& part : parts) {
        const auto& [wanted, transform, out] = part;
        TRICODEC_EXPECT(!out.shape.empty() && out.shape[0] == static_cast<std::int64_t>(wanted.size()),
                        invalid_argument,
                        "the output is " + describe(out) + "; its first axis must be the number of frames, " +
                            std::to_string(wanted.size()));
        TRICODEC_EXPECT(out.dtype == transform.options().dtype, invalid_argument,
                        "the output is " + describe(out) + ", but the transform writes " +
                            std::string(to_string(transform.options().dtype)));
        outputs->writers.push_back(std::make_unique<BatchWriter>(transform, out, context_, stream));
        for (std::size_t slot = 0; slot < wanted.size(); ++slot) {
            outputs->places.push_back({outputs->writers.back().get(), static_cast<std::int64_t>(slot)});
        }
        indices.insert(indices.end(), wanted.begin(), wanted.end());
    }
    Plan plan = plan_writes(
        indices,
        [outputs](std::int64_t i, const Frame& frame) {
            const auto& [writer, slot] = outputs->places[static_cast<std::size_t>(i)];
            writer->write(slot, frame);
        },
        [outputs] {
            for (const auto& writer : outputs->writers) writer->restart();
        },
        make_plan);
    plan.finish = [outputs, decoded = std::move(plan.finish)] {
        decoded();
        for (const auto& writer : outputs->writers) writer->finish();
    };
    return plan;
}

FrameReader::Plan FrameReaderImpl::plan_frames(std::span<const std::int64_t> indices, Writer write,
                                               const PlanOptions& options) {
    return plan_writes(
        indices, std::move(write), [] {},
        [&](std::span<const std::int64_t> numbers) { return plan_tasks(numbers, options); });
}

FrameReader::Plan FrameReaderImpl::plan_writes(std::span<const std::int64_t> indices, Writer write,
                                               std::function<void()> restart, const MakePlan& make_plan) {
    struct Shared {
        std::multimap<std::int64_t, std::int64_t> slots;  // frame -> places among those asked
        ReadPlan read;
        std::vector<std::int64_t> numbers;
        std::shared_ptr<const StreamIndex> index;
        std::atomic<bool> mismatch{false};
    };
    const std::shared_ptr<Shared> shared(new Shared{{}, {}, {}, index(), false});
    std::vector<std::int64_t> numbers;
    for (std::size_t slot = 0; slot < indices.size(); ++slot) {
        numbers.push_back(checked(indices[slot]));
        shared->slots.emplace(numbers.back(), static_cast<std::int64_t>(slot));
    }
    shared->numbers = sorted_distinct(numbers);
    shared->read = make_plan(shared->numbers);

    const auto sink = [shared, write = std::move(write)](const Frame& frame) {
        const auto [begin, end] = shared->slots.equal_range(frame.index);
        for (auto it = begin; it != end; ++it) write(it->second, frame);
    };
    Plan plan;
    for (std::size_t g = 0; g < shared->read.groups.size(); ++g) {
        plan.costs.push_back(static_cast<double>(shared->read.groups[g].num_packets()));
        plan.tasks.emplace_back([this, shared, sink, g] {
            try {
                const auto& group = shared->read.groups[g];
                for (const auto& segment : group.segments)
                    run(shared->index, segment, shared->read.options(group), sink);
            } catch (const IndexMismatch&) {
                shared->mismatch = true;  // finish() numbers the frames again
            }
        });
    }
    plan.finish = [this, shared, sink, restart = std::move(restart)] {
        if (!shared->mismatch) return;
        restart();
        if (!index_->scanned()) rescan();
        decode(shared->numbers, false, sink);
    };
    return plan;
}

int num_engines(const FrameReader& reader) noexcept {
    const auto* known = dynamic_cast<const FrameReaderImpl*>(&reader);
    return known != nullptr ? known->num_engines() : 0;
}

}  // namespace tricodec
