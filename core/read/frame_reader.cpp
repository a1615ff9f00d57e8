// SPDX-License-Identifier: Apache-2.0
#include "tricodec/read/frame_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/cuda/context.h"
#include "ffmpeg/stream_info.h"
#include "read/frame_reader.h"
#include "read/iterators.h"
#include "read/read_memory.h"
#include "read/read_plan.h"
#include "selection/rules.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

// A call for more frames keeps all decoders of a GPU busy by itself.
constexpr std::int64_t kFramesFollowed = 256;

FrameRange range_of(const FrameSelection& selection) {
    return {.start = selection.start, .stride = selection.stride, .count = selection.count};
}

void expect_batch_size(std::int64_t batch_size) {
    TRICODEC_EXPECT(batch_size >= 1, invalid_argument,
                    "batch_size is " + std::to_string(batch_size) + "; it must be at least 1");
}

}  // namespace

SelectedFrames FrameRequest::of(FrameReader& reader) const {
    if (const auto* asked = std::get_if<Selected>(&frames_)) {
        auto selected = reader.selected(asked->selection);
        const auto size = std::ssize(selected.numbers);
        const auto first = std::min(asked->first, size);
        const auto end = asked->count < 0 ? size : first + std::min(asked->count, size - first);
        if (first == 0 && end == size) return selected;
        return {{selected.numbers.begin() + first, selected.numbers.begin() + end},
                {selected.times.begin() + first, selected.times.begin() + end}};
    }
    const auto* computed = std::get_if<Numbers>(&frames_);
    SelectedFrames frames{computed != nullptr ? (*computed)(reader) : std::get<std::vector<std::int64_t>>(frames_), {}};
    if (frames.numbers.empty()) return frames;
    const auto num_frames = reader.num_frames();
    for (auto& number : frames.numbers) {
        if (computed == nullptr || number != kNoFrame) number = checked_frame(number, num_frames);
    }
    return frames;
}

std::unique_ptr<FrameReader> FrameReaderImpl::reopen_in_child(bool at_rest) {
    if (opened_on_.kind == Device::Kind::cuda) static_cast<void>(cuda::api());  // throws, with the remedy
    const bool closed = video_.close_in_child();
    TRICODEC_EXPECT((closed && at_rest) || source_.forward_spool() == nullptr, unsupported,
                    "'" + info().name +
                        "', which cannot seek, was being read when this process was forked; open it in this process");
    auto options = options_;
    options.device = "cpu";
    auto reopened = std::make_unique<FrameReaderImpl>(source_, options);
    if (at_rest) reopened->video_.learn_in_child(video_);
    return reopened;
}

const FrameTimes& FrameReaderImpl::times() {
    const auto index = video_.index();
    if (!times_ || !times_->index().numbers_as(*index)) times_.emplace(stream(), index);
    return *times_;
}

std::int64_t FrameReaderImpl::index_at(double seconds) {
    TRICODEC_EXPECT(std::isfinite(seconds), out_of_range,
                    "time is " + std::to_string(seconds) + "; it must be a number of seconds");
    return frame_at(seconds, {.policy = TimePolicy::on_screen}, video_times());
}

std::vector<FrameReader::FrameTime> FrameReaderImpl::frame_times() {
    const auto index = video_.index();
    std::vector<FrameTime> times;
    times.reserve(index->frames().size());
    for (const auto& frame : index->frames()) {
        const bool known = frame.packet >= 0 && frame.packet < index->num_packets();
        const auto duration = known ? index->packet(frame.packet).duration : 0;
        times.push_back({frame.pts, duration > 0 ? duration : frame.duration});
    }
    return times;
}

FrameReader::TimeSpan FrameReaderImpl::time_span(std::span<const std::int64_t> indices) {
    if (indices.empty()) return {};
    const auto video = video_times();
    const auto clock = video.clock();
    const auto frames = FrameRequest({indices.begin(), indices.end()}).of(*this);
    const auto [low, high] = std::ranges::minmax(frames.numbers);
    const auto first = static_cast<std::size_t>(low);
    const auto after = static_cast<std::size_t>(high) + 1;
    return {clock[first], after < clock.size() ? clock[after] : video.clock_end()};
}

Frame FrameReaderImpl::frame(std::int64_t i) {
    if (i == 0 && !following_ && (last_given_ < 0 || !video_.has_index())) {
        if (auto first = video_.decode_first_frame()) {
            remember(std::vector<std::int64_t>{0});
            return *std::move(first);
        }
    }
    const auto index = video_.index();
    auto next = next_frame(checked_frame(i, index->num_frames()));
    return next && video_.index()->numbers_as(*index) ? *std::move(next) : lone_frame(i);
}

std::optional<Frame> FrameReaderImpl::next_frame(std::int64_t number) {
    if (!following_ || following_->next_number() != number) {
        following_ = nullptr;  // first: its decoder may be the one that is taken next
        if (!follows(number)) return std::nullopt;
        // A decoder that stays is worth its delay.
        following_ = std::make_unique<FollowingRead>(video_, number, plan_following(video_), num_in_order_);
    }
    try {
        auto frame = following_->next();
        if (frame) {
            remember(std::vector{number});
        } else {
            following_ = nullptr;
        }
        return frame;
    } catch (...) {
        if (following_->reads_ahead()) following_ = nullptr;  // the next call begins with a decoder of its own
        throw;
    }
}

Frame FrameReaderImpl::lone_frame(std::int64_t i) {
    std::optional<Frame> found;
    CallbackSink sink(*this, {std::vector{i}}, {{}, [&](std::int64_t /*slot*/, const Frame& frame) { found = frame; }});
    read_planned(sink);
    return *std::move(found);
}

bool FrameReaderImpl::continues_last(std::span<const std::int64_t> numbers) const {
    if (numbers.empty() || numbers.front() != last_given_ + 1) return false;
    const auto size = static_cast<std::int64_t>(numbers.size());
    return numbers.back() - numbers.front() + 1 == size && (size > 1 || last_given_ >= 0);
}

bool FrameReaderImpl::is_resumable(std::span<const std::int64_t> numbers) {
    if (continues_last(numbers)) return true;
    // A later one of the same GOP: more of them may follow.
    const auto index = video_.index();
    return numbers.size() == 1 && last_given_ >= 0 && last_given_ < numbers.front() &&
           last_given_ < index->num_frames() && index->entry_for(last_given_) == index->entry_for(numbers.front());
}

void FrameReaderImpl::remember(std::span<const std::int64_t> numbers) {
    if (numbers.empty()) return;
    const bool is_run = numbers.back() - numbers.front() + 1 == std::ssize(numbers);
    num_in_order_ = is_run ? std::ssize(numbers) + (follows(numbers.front()) ? num_in_order_ : 0) : 1;
    last_given_ = numbers.back();
}

void FrameReaderImpl::read(SlotSink& sink) {
    const auto once = [&] {
        if (!read_in_order(sink)) read_planned(sink);
        sink.finish();
    };
    try {
        return once();
    } catch (const Error& error) {
        // The size may be another one than the headers say: it is then asked of the first frame.
        if (error.code() != ErrorCode::unsupported || std::exchange(sizes_doubted_, true)) throw;
    }
    once();
}

bool FrameReaderImpl::read_in_order(SlotSink& sink) {
    if (video_.slots() == nullptr || last_given_ < 0) return false;
    const auto& numbers = sink.resolve();
    if (!continues_last(numbers) || std::ssize(numbers) > kFramesFollowed) return false;
    const auto index = video_.index();
    sink.restart(0, std::ssize(numbers));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto next = next_frame(numbers[i]);
        sink.put(static_cast<std::int64_t>(i), next ? *std::move(next) : lone_frame(numbers[i]));
    }
    return video_.index()->numbers_as(*index);
}

void FrameReaderImpl::read_planned(SlotSink& sink) {
    following_ = nullptr;  // its decoder goes back to the pool
    const auto read = Read::make(
        video_, sink, [&] { return sink.resolve(); },
        [&](const auto& index, std::span<const std::int64_t> numbers) {
            return plan_read(video_, index, numbers, is_resumable(numbers));
        });
    sink.restart(0, read->count());
    read->run();
    remember(sink.distinct());
}

FrameReader::Plan FrameReaderImpl::plan(const std::shared_ptr<SlotSink>& sink, const PlanOptions& options) {
    const auto make_plan = [this, options](const auto& index, std::span<const std::int64_t> wanted) {
        auto tasks = plan_tasks(video_, *index, wanted, options.max_tasks, options.num_cores);
        tasks.resumable = options.resumable;
        return tasks;
    };
    const auto read = Read::make(video_, *sink, [sink] { return sink->resolve(); }, make_plan);
    sink->restart(0, read->count());
    Plan plan;
    for (std::size_t t = 0; t < read->plan().tasks.size(); ++t) {
        plan.costs.push_back(static_cast<double>(read->plan().tasks[t].num_packets()));
        plan.tasks.emplace_back([read, sink, t] { read->run_task(t); });
    }
    plan.finish = [read, sink] {
        read->finish();
        sink->finish();
        return sink->frames();
    };
    return plan;
}

std::vector<Frame> FrameReaderImpl::frames(const FrameRequest& request) {
    FrameListSink sink(*this, request);
    read(sink);
    return sink.take();
}

FrameReader::Batch FrameReaderImpl::batch(const FrameRequest& request, const Transform& transform) {
    std::optional<StreamView> stream;
    if (device().kind == Device::Kind::cuda)
        stream = cuda::thread_stream(cuda::Context::of_caller(video_.context(), device()));
    Tensor tensor;
    const auto place = [&](const std::vector<std::int64_t>& shape) {
        const auto dtype = transform.options().dtype;
        tensor = stream ? Tensor::empty(shape, dtype, device(), *stream) : Tensor::empty(shape, dtype);
        return tensor.view;
    };
    auto frames = read_into({{request, transform, place}}, stream);
    if (stream) tensor.buffer->written_on(*stream);
    return {std::move(tensor), std::move(frames.front())};
}

std::vector<SelectedFrames> FrameReaderImpl::read_into(std::vector<Part> parts, std::optional<StreamView> stream) {
    TensorSink sink(*this, std::move(parts), video_.context(), stream);
    read(sink);
    return sink.frames();
}

void FrameReaderImpl::each(const FrameRequest& request, Receiver receiver) {
    CallbackSink sink(*this, {request}, std::move(receiver));
    read(sink);
}

FrameReader::Plan FrameReaderImpl::plan_parts(std::vector<Part> parts, const PlanOptions& options) {
    return plan(std::make_shared<TensorSink>(*this, std::move(parts), video_.context(), options.stream), options);
}

FrameReader::Plan FrameReaderImpl::plan_frames(std::vector<FrameRequest> requests, Receiver receiver,
                                               const PlanOptions& options) {
    return plan(std::make_shared<CallbackSink>(*this, std::move(requests), std::move(receiver)), options);
}

Frame FrameReaderImpl::geometry(std::int64_t index) {
    Frame shape;
    const auto& facts = stream();
    shape.format = facts.pixel_format;
    shape.width = facts.width;
    shape.height = facts.height;
    shape.orientation = facts.orientation;
    shape.color = facts.color;
    // The container's headers may be wrong in a damaged stream, and where packets bring other ones.
    const auto known = video_.has_index() ? video_.index() : nullptr;
    const bool doubtful = sizes_doubted_ || (known && (known->counted() || known->parameters_change()));
    if (shape.width > 0 && shape.height > 0 && !doubtful) return shape;
    try {
        return frame(index);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_range) expect_frames();
        throw;
    }
}

FrameRange FrameReaderImpl::resolved(const FrameSelection& selection) {
    expect_valid(selection);
    if (!is_range(selection)) {
        const auto numbers = select(selection);
        return {numbers.empty() ? 0 : numbers.front(), selection.stride, std::ssize(numbers)};
    }
    if (begins_without_index(video_, range_of(selection))) return range_of(selection);
    const auto total = num_frames();
    if (selection.count != 0) expect_frames();
    return {checked_start(selection.start, total), selection.stride, selection.count};
}

std::unique_ptr<FrameReader::Iterator> FrameReaderImpl::iterate(const FrameSelection& selection) {
    following_ = nullptr;
    if (!is_part(selection)) return std::make_unique<ListedFrames>(*this, selection);
    return make_frame_iterator(video_, [this, selection] { return resolved(selection); });
}

std::unique_ptr<FrameReader::BatchIterator> FrameReaderImpl::batches(const FrameSelection& selection,
                                                                     std::int64_t batch_size,
                                                                     const Transform& transform) {
    expect_batch_size(batch_size);
    following_ = nullptr;
    if (!is_part(selection)) return std::make_unique<ListedBatches>(*this, selection, batch_size, transform);
    // No batch has more frames than the video: no overflow. Batches on the CPU need the index in any case.
    const bool on_cpu = device().kind == Device::Kind::cpu;
    const auto largest = on_cpu ? std::max<std::int64_t>(1, video_.index()->num_frames()) : batch_size;
    const auto resolve = [this, selection] { return resolved(selection); };
    if (!on_cpu) return batch_frames(video_, make_frame_iterator(video_, resolve), batch_size, transform);
    return make_batch_iterator(video_, resolve, std::min(batch_size, largest), transform, [this, resolve, transform] {
        const auto first = geometry(resolve().start);
        return transform.output_shape(first.width, first.height, first.orientation);
    });
}

MemoryNeed FrameReaderImpl::memory_required(const FrameSelection& selection, const Transform& transform,
                                            std::optional<std::int64_t> batch_size) {
    const auto first = geometry(0);
    auto frame_bytes = static_cast<std::int64_t>(size_of(transform.options().dtype));
    for (const auto side : transform.output_shape(first.width, first.height, first.orientation)) frame_bytes *= side;
    if (batch_size) expect_batch_size(*batch_size);
    if (batch_size && is_part(selection)) {
        const auto numbers = clipped_numbers(resolved(selection), video_.index()->num_frames());
        return memory_of_batches(video_, *video_.index_for(numbers), numbers, *batch_size, frame_bytes);
    }
    const auto numbers = select(selection);
    const auto num_places = std::ssize(numbers);
    MemoryNeed most;
    for (std::int64_t begin = 0; begin < num_places;) {
        const auto end = batch_size ? begin + std::min(*batch_size, num_places - begin) : num_places;
        std::vector<std::int64_t> part(numbers.begin() + begin, numbers.begin() + end);
        std::ranges::sort(part);
        const auto repeats = std::ranges::unique(part);
        part.erase(repeats.begin(), repeats.end());
        // The result, and the one before it, which the consumer of batches has.
        const auto size_bytes = (batch_size ? 2 : 1) * (end - begin) * frame_bytes;
        const auto need = memory_of_batch(video_, plan_read(video_, video_.index_for(part), part, false), size_bytes);
        most = {.host_bytes = std::max(most.host_bytes, need.host_bytes),
                .device_bytes = std::max(most.device_bytes, need.device_bytes),
                .decoder_bytes = std::max(most.decoder_bytes, need.decoder_bytes),
                .codec_bytes = std::max(most.codec_bytes, need.codec_bytes)};
        begin = end;
    }
    return most;
}

std::unique_ptr<FrameReader> FrameReader::open(const MediaSource& source, const FrameReaderOptions& options) {
    return std::make_unique<FrameReaderImpl>(source, options);
}

SelectedFrames FrameReader::selected(const FrameSelection& selection) {
    expect_valid(selection);
    const bool none = selection.count == 0 || (selection.indices && selection.indices->empty()) ||
                      (selection.times && selection.times->empty());
    if (!none) expect_frames();
    return select_frames(selection, video_times());
}

int num_engines(const FrameReader& reader) noexcept {
    const auto* known = dynamic_cast<const FrameReaderImpl*>(&reader);
    return known != nullptr ? known->video().pool().num_engines() : 0;
}

}  // namespace tricodec
