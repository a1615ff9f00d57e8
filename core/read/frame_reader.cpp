// SPDX-License-Identifier: Apache-2.0
#include "tricodec/read/frame_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/cuda/context.h"
#include "ffmpeg/stream_info.h"
#include "read/batch_iterator.h"
#include "read/frame_iterator.h"
#include "read/frame_reader.h"
#include "read/listed_iterator.h"
#include "read/read_memory.h"
#include "read/video_plans.h"
#include "selection/time_match.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

// A call for more frames keeps all decoders of a GPU busy by itself.
constexpr std::int64_t kFramesFollowed = 256;

/// True for frames some steps apart, which decoders can read ahead.
bool is_stepped(const FrameSelection& selection) {
    return !selection.indices && !selection.times && !selection.fps && !selection.num_frames &&
           selection.sampling == Sampling::none;
}

FrameRange range_of(const FrameSelection& selection) {
    return {.start = selection.start, .stride = selection.stride, .count = selection.count};
}

void expect_batch_size(std::int64_t batch_size) {
    TRICODEC_EXPECT(batch_size >= 1, invalid_argument,
                    "batch_size is " + std::to_string(batch_size) + "; it must be at least 1");
}

std::vector<std::int64_t> numbers_of(const std::vector<FrameReader::Part>& parts) {
    std::vector<std::int64_t> numbers;
    for (const auto& part : parts) numbers.insert(numbers.end(), part.indices.begin(), part.indices.end());
    return numbers;
}

}  // namespace

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
    const auto [low, high] = std::ranges::minmax_element(indices, {}, [this](auto i) { return checked(i); });
    const auto first = static_cast<std::size_t>(checked(*low));
    const auto after = static_cast<std::size_t>(checked(*high)) + 1;
    return {clock[first], after < clock.size() ? clock[after] : video.clock_end()};
}

std::int64_t FrameReaderImpl::checked(std::int64_t i) {
    const auto count = num_frames();
    const auto number = i < 0 ? i + count : i;
    TRICODEC_EXPECT(number >= 0 && number < count, out_of_range,
                    "frame " + std::to_string(i) + " was asked for; " + range_text(count));
    return number;
}

void FrameReaderImpl::read_selected(const Select& select, const ReadNumbers& read) {
    for (;;) {
        const auto index = video_.index();
        const auto numbers = select(*this);
        try {
            read(numbers);
            if (video_.index()->numbers_as(*index) || select(*this) == numbers) return;
        } catch (const Error& error) {
            // The size may be another one than the headers say: it is then asked of the first frame.
            const bool by_size = error.code() == ErrorCode::unsupported;
            const bool again = by_size && !std::exchange(sizes_doubted_, true);
            const bool renumbered = !video_.index()->numbers_as(*index);
            if (!again && !(renumbered && (by_size || error.code() == ErrorCode::out_of_range))) throw;
        }
    }
}

Frame FrameReaderImpl::frame(std::int64_t i) {
    if (i == 0 && !following_ && (last_given_ < 0 || !video_.has_index())) {
        if (auto first = video_.decode_first_frame()) {
            remember(std::vector<std::int64_t>{0});
            return *std::move(first);
        }
    }
    std::optional<Frame> found;
    read_selected([&](FrameReader&) { return std::vector{checked(i)}; },
                  [&](std::span<const std::int64_t> numbers) { found = numbered_frame(numbers.front()); });
    return *std::move(found);
}

Frame FrameReaderImpl::numbered_frame(std::int64_t number) {
    if (!following_ || following_->next_number() != number) {
        following_ = nullptr;  // first: its decoder may be the one that is taken next
        // A decoder that stays is worth its delay.
        if (follows(number)) {
            following_ = std::make_unique<FollowingRead>(video_, number, plan_following(video_), num_in_order_);
        }
    }
    const std::int64_t wanted[] = {number};
    if (following_) {
        try {
            if (auto frame = following_->next()) {
                remember(wanted);
                return *std::move(frame);
            }
        } catch (...) {
            if (following_->reads_ahead()) following_ = nullptr;  // the next call begins with a decoder of its own
            throw;
        }
        following_ = nullptr;
    }
    // A later one of the same GOP: more of them may follow.
    const auto index = video_.index();
    const bool ahead = last_given_ >= 0 && last_given_ < number;
    const bool resumable = ahead && index->entry_for(last_given_) == index->entry_for(number);
    FrameListSink sink(wanted);
    read(sink, sink.distinct(), resumable);
    remember(wanted);
    return std::move(sink.take().front());
}

bool FrameReaderImpl::continues_last(std::span<const std::int64_t> numbers) const {
    if (numbers.empty() || numbers.front() != last_given_ + 1) return false;
    const auto size = static_cast<std::int64_t>(numbers.size());
    return numbers.back() - numbers.front() + 1 == size && (size > 1 || last_given_ >= 0);
}

void FrameReaderImpl::expect_still_there(std::span<const std::int64_t> numbers) {
    if (!numbers.empty()) (void)checked(numbers.back());
}

void FrameReaderImpl::remember(std::span<const std::int64_t> numbers) {
    if (numbers.empty()) return;
    const bool is_run = numbers.back() - numbers.front() + 1 == std::ssize(numbers);
    num_in_order_ = is_run ? std::ssize(numbers) + (follows(numbers.front()) ? num_in_order_ : 0) : 1;
    last_given_ = numbers.back();
}

void FrameReaderImpl::give(SlotSink& sink) {
    const auto& numbers = sink.distinct();
    const bool continues = continues_last(numbers);
    const bool is_short = std::ssize(numbers) <= kFramesFollowed;
    if (continues && is_short && last_given_ >= 0 && video_.slots() != nullptr) {
        const auto index = video_.index();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            sink.put(static_cast<std::int64_t>(i), numbered_frame(numbers[i]));
        }
        if (video_.index()->numbers_as(*index)) return;
        sink.restart(0, std::ssize(numbers));
    }
    read(sink, numbers, continues);
    remember(numbers);
}

void FrameReaderImpl::read(FrameSink& sink, std::vector<std::int64_t> numbers, bool resumable) {
    following_ = nullptr;  // its decoder goes back to the pool
    const auto read = Read::make(
        video_, sink,
        [&] {
            expect_still_there(numbers);
            return numbers;
        },
        [&](const auto& index, std::span<const std::int64_t> wanted) {
            return plan_read(video_, index, wanted, resumable);
        });
    read->run();
}

FrameReader::Plan FrameReaderImpl::plan(std::shared_ptr<FrameSink> sink, std::vector<std::int64_t> numbers,
                                        const PlanOptions& options) {
    const auto resolve = [this, numbers = std::move(numbers)] {
        expect_still_there(numbers);
        return numbers;
    };
    const auto make_plan = [this, options](const auto& index, std::span<const std::int64_t> wanted) {
        auto tasks = plan_tasks(video_, *index, wanted, options.max_tasks, options.num_cores);
        tasks.resumable = options.resumable;
        return tasks;
    };
    const auto read = Read::make(video_, *sink, resolve, make_plan);
    Plan plan;
    for (std::size_t t = 0; t < read->plan().tasks.size(); ++t) {
        plan.costs.push_back(static_cast<double>(read->plan().tasks[t].num_packets()));
        plan.tasks.emplace_back([read, sink, t] { read->run_task(t); });
    }
    plan.finish = [read, sink] { read->finish(); };
    return plan;
}

std::vector<Frame> FrameReaderImpl::frames(std::span<const std::int64_t> indices) {
    std::vector<std::int64_t> numbers;
    for (const auto i : indices) numbers.push_back(checked(i));
    if (numbers.empty()) return {};
    FrameListSink sink(numbers);
    if (const auto shape = geometry(numbers.front()); shape.format != PixelFormat::unknown) {
        const auto num_frames = static_cast<std::int64_t>(sink.distinct().size());
        FrameListSink::expect_within_limit(num_frames, num_frames * shape.size_bytes());
    }
    give(sink);
    return sink.take();
}

Tensor FrameReaderImpl::empty_batch(std::span<const std::int64_t> indices, const Transform& transform,
                                    std::optional<StreamView> stream) {
    const auto first = geometry(indices.empty() ? 0 : indices.front());
    auto shape = transform.output_shape(first.width, first.height, first.orientation);
    shape.insert(shape.begin(), std::ssize(indices));
    if (!stream) return Tensor::empty(shape, transform.options().dtype);
    return Tensor::empty(shape, transform.options().dtype, device(), *stream);
}

Tensor FrameReaderImpl::batch(std::span<const std::int64_t> indices, const Transform& transform) {
    std::optional<StreamView> stream;
    if (device().kind == Device::Kind::cuda)
        stream = cuda::thread_stream(cuda::Context::of_caller(video_.context(), device()));
    auto result = empty_batch(indices, transform, stream);
    batch_into(indices, transform, result.view, stream);
    if (stream) result.buffer->written_on(*stream);
    return result;
}

Tensor FrameReaderImpl::batch(const FrameSelection& selection, const Transform& transform) {
    Tensor result;
    read_selected([&](FrameReader&) { return select(selection); },
                  [&](std::span<const std::int64_t> numbers) { result = batch(numbers, transform); });
    return result;
}

void FrameReaderImpl::parts_into(std::vector<Part> parts, std::optional<StreamView> stream) {
    for (auto& part : parts) {
        for (auto& i : part.indices) i = checked(i);
    }
    const auto numbers = numbers_of(parts);
    TensorSink sink(numbers, parts, video_.context(), stream);
    give(sink);
    sink.finish();
}

void FrameReaderImpl::each(std::span<const std::int64_t> indices, const Writer& write) {
    std::vector<std::int64_t> numbers;
    for (const auto i : indices) numbers.push_back(checked(i));
    CallbackSink sink(numbers, write);
    give(sink);
}

FrameReader::Plan FrameReader::plan_batch(std::span<const std::int64_t> indices, const Transform& transform,
                                          const TensorView& out, int max_tasks, std::optional<StreamView> stream) {
    return plan_parts({{{indices.begin(), indices.end()}, transform, out}}, {.max_tasks = max_tasks, .stream = stream});
}

FrameReader::Plan FrameReaderImpl::plan_parts(std::vector<Part> parts, const PlanOptions& options) {
    for (auto& part : parts) {
        for (auto& i : part.indices) i = checked(i);
    }
    const auto sink = std::make_shared<TensorSink>(numbers_of(parts), parts, video_.context(), options.stream);
    auto result = plan(sink, sink->distinct(), options);
    result.finish = [sink, decoded = std::move(result.finish)] {
        decoded();
        sink->finish();
    };
    return result;
}

FrameReader::Plan FrameReaderImpl::plan_frames(std::span<const std::int64_t> indices, Writer write,
                                               const PlanOptions& options) {
    std::vector<std::int64_t> numbers;
    for (const auto i : indices) numbers.push_back(checked(i));
    const auto sink = std::make_shared<CallbackSink>(numbers, std::move(write));
    return plan(sink, sink->distinct(), options);
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
    const auto start = selection.start < 0 ? selection.start + total : selection.start;
    TRICODEC_EXPECT(start >= 0 && (start < total || (start == 0 && total == 0)), out_of_range,
                    "start is " + std::to_string(selection.start) + "; " + range_text(total));
    return {start, selection.stride, selection.count};
}

std::unique_ptr<FrameReader::Iterator> FrameReaderImpl::iterate(const FrameSelection& selection) {
    following_ = nullptr;
    if (!is_stepped(selection)) return std::make_unique<ListedFrames>(*this, selection);
    return make_frame_iterator(video_, [this, selection] { return resolved(selection); });
}

std::unique_ptr<FrameReader::BatchIterator> FrameReaderImpl::batches(const FrameSelection& selection,
                                                                     std::int64_t batch_size,
                                                                     const Transform& transform) {
    expect_batch_size(batch_size);
    following_ = nullptr;
    if (!is_stepped(selection)) return std::make_unique<ListedBatches>(*this, selection, batch_size, transform);
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

std::int64_t FrameReaderImpl::output_bytes(const Transform& transform) {
    const auto first = geometry(0);
    auto size_bytes = static_cast<std::int64_t>(size_of(transform.options().dtype));
    for (const auto side : transform.output_shape(first.width, first.height, first.orientation)) size_bytes *= side;
    return size_bytes;
}

MemoryNeed FrameReaderImpl::memory_of_batch(std::span<const std::int64_t> indices, const Transform& transform) {
    std::vector<std::int64_t> numbers;
    for (const auto i : indices) numbers.push_back(checked(i));
    const auto size_bytes = static_cast<std::int64_t>(numbers.size()) * output_bytes(transform);
    std::ranges::sort(numbers);
    const auto repeats = std::ranges::unique(numbers);
    numbers.erase(repeats.begin(), repeats.end());
    return tricodec::memory_of_batch(video_, plan_read(video_, video_.index_for(numbers), numbers, false), size_bytes);
}

MemoryNeed FrameReaderImpl::memory_of_batches(const FrameSelection& selection, std::int64_t batch_size,
                                              const Transform& transform) {
    expect_batch_size(batch_size);
    if (!is_stepped(selection)) return memory_of_listed(selection, batch_size, output_bytes(transform));
    const auto numbers = clipped_numbers(resolved(selection), video_.index()->num_frames());
    const auto index = video_.index_for(numbers);
    return tricodec::memory_of_batches(video_, *index, numbers, batch_size, output_bytes(transform));
}

MemoryNeed FrameReaderImpl::memory_of_frames(const FrameSelection& selection) {
    if (!is_stepped(selection)) return memory_of_listed(selection, kListedFramesAtATime, frame_bytes(stream()));
    const bool by_index = !is_range(selection) || !begins_without_index(video_, range_of(selection));
    const auto numbers = clipped_numbers(resolved(selection), video_.index()->num_frames());
    const auto index = video_.index_for(numbers);
    return tricodec::memory_of_frames(video_, *index, numbers, by_index);
}

MemoryNeed FrameReaderImpl::memory_of_listed(const FrameSelection& selection, std::int64_t num_frames,
                                             std::int64_t output_bytes) {
    MemoryNeed most;
    const auto numbers = select(selection);
    for (std::size_t first = 0; first < numbers.size();) {
        const auto last = first + std::min(static_cast<std::size_t>(num_frames), numbers.size() - first);
        std::vector<std::int64_t> part(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                       numbers.begin() + static_cast<std::ptrdiff_t>(last));
        // The result, and the one before it, which the consumer has.
        const auto size_bytes = 2 * static_cast<std::int64_t>(part.size()) * output_bytes;
        std::ranges::sort(part);
        const auto repeats = std::ranges::unique(part);
        part.erase(repeats.begin(), repeats.end());
        const auto need =
            tricodec::memory_of_batch(video_, plan_read(video_, video_.index_for(part), part, false), size_bytes);
        most = {.host_bytes = std::max(most.host_bytes, need.host_bytes),
                .device_bytes = std::max(most.device_bytes, need.device_bytes),
                .decoder_bytes = std::max(most.decoder_bytes, need.decoder_bytes),
                .codec_bytes = std::max(most.codec_bytes, need.codec_bytes)};
        first = last;
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
