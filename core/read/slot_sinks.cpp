// SPDX-License-Identifier: Apache-2.0
#include "read/slot_sinks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "tensor/frame_layout.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

// Enough for a launch to fill a GPU, few enough that decoded surfaces are soon free again.
constexpr std::size_t kFramesAtOnce = 16;

bool is_page_locked(const void* pointer) {
    unsigned type = 0;
    const auto address = reinterpret_cast<cuda::DevicePointer>(pointer);
    return cuda::api().pointer_get_attribute(&type, cuda::PointerAttribute::memory_type, address) == cuda::kSuccess &&
           type == static_cast<unsigned>(cuda::MemoryType::host);
}

bool fits(const Frame& frame, const Transform& transform, const TensorView& place) {
    return transform.output_shape(frame.width, frame.height, frame.orientation) == place.shape;
}

std::string misfit_text(const Frame& frame, const TensorView& place) {
    return "frame " + std::to_string(frame.index) + " is " + size_text(frame.width, frame.height) +
           ", unlike the others of the batch (" + describe(place) +
           "); pass size=(height, width) so that all come out alike";
}

}  // namespace

/// The part with a GPU at either end: its stream, and the frames that wait for a launch.
class BatchWriter::OnGpu {
public:
    OnGpu(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream);
    ~OnGpu();

    void add(std::int64_t slot, const Frame& frame);
    void finish();

private:
    struct SlotFrame {
        std::int64_t slot;
        Frame frame;
    };
    void run(std::vector<SlotFrame> items);
    void copy_back(const Tensor& made, const std::vector<SlotFrame>& items, const cuda::Stream& on);
    [[nodiscard]] std::shared_ptr<cuda::Stream> stream(Device device);

    Transform transform_;
    TensorView out_;
    std::uintptr_t context_;
    std::optional<StreamView> callers_;
    bool finished_ = false;
    bool page_locked_ = false;  // an output on the CPU that the GPU can write by itself
    std::mutex mutex_;
    std::vector<SlotFrame> waiting_;
    std::shared_ptr<cuda::Stream> stream_;  // made when first needed
};

BatchWriter::OnGpu::OnGpu(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream)
    : transform_(std::move(transform)), out_(std::move(out)), context_(context), callers_(stream) {
    if (out_.device.kind == Device::Kind::cpu || !callers_) return;
    // Not on the caller's own stream: work is queued from many threads, and each has a per-thread default stream.
    stream_ = std::make_shared<cuda::Stream>(cuda::Context::of_caller(context_, out_.device));
    cuda::Event::record(*stream_->context(), *callers_).wait_on(*stream_);
}

BatchWriter::OnGpu::~OnGpu() {
    if (!stream_ || finished_) return;
    try {
        stream_->synchronize();  // a read that failed: nothing may write the caller's memory any more
    } catch (const std::exception& error) {
        log(LogLevel::warning, error.what());
    }
}

void BatchWriter::OnGpu::add(std::int64_t slot, const Frame& frame) {
    std::vector<SlotFrame> items;
    {
        std::lock_guard lock(mutex_);
        waiting_.push_back({slot, frame});
        if (waiting_.size() < kFramesAtOnce) return;
        items.swap(waiting_);
    }
    run(std::move(items));
}

void BatchWriter::OnGpu::finish() {
    if (!waiting_.empty()) run(std::exchange(waiting_, {}));
    if (!stream_) return;
    finished_ = true;
    if (callers_ && out_.device.kind == Device::Kind::cuda) {
        cuda::Event::record(*stream_->context(), *stream_).wait_on(*callers_);
    } else {
        stream_->synchronize();
    }
}

std::shared_ptr<cuda::Stream> BatchWriter::OnGpu::stream(Device device) {
    std::lock_guard lock(mutex_);
    if (stream_) return stream_;
    stream_ = std::make_shared<cuda::Stream>(cuda::Context::of_caller(context_, device));
    page_locked_ = out_.device.kind == Device::Kind::cpu && is_page_locked(out_.data);
    return stream_;
}

void BatchWriter::OnGpu::run(std::vector<SlotFrame> items) {
    const bool to_gpu = out_.device.kind == Device::Kind::cuda;
    const Device gpu = to_gpu ? out_.device : items.front().frame.device;
    const auto on = stream(gpu);
    std::vector<Frame> frames;
    std::vector<TensorView> outs;
    Tensor made;
    if (!to_gpu) {
        auto shape = out_.shape;
        shape[0] = static_cast<std::int64_t>(items.size());
        made = Tensor::empty(shape, out_.dtype, gpu, *on);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        frames.push_back(to_device(items[i].frame, gpu, *on));
        outs.push_back(to_gpu ? out_[items[i].slot] : made.view[static_cast<std::int64_t>(i)]);
    }
    transform_(frames, std::span<const TensorView>(outs), *on);
    if (to_gpu) return;
    made.buffer->written_on(*on);
    copy_back(made, items, *on);
}

void BatchWriter::OnGpu::copy_back(const Tensor& made, const std::vector<SlotFrame>& items, const cuda::Stream& on) {
    if (!page_locked_ || !out_[items.front().slot].is_contiguous()) {
        const Tensor host = to_host(made.view, made.buffer.get(), true);
        for (std::size_t i = 0; i < items.size(); ++i) {
            copy_elements(host.view[static_cast<std::int64_t>(i)].data, out_[items[i].slot]);
        }
        return;
    }
    const cuda::ContextScope scope(*on.context());
    for (std::size_t i = 0; i < items.size(); ++i) {
        const TensorView frame = made.view[static_cast<std::int64_t>(i)];
        const auto size_bytes = static_cast<std::size_t>(frame.num_elements()) * size_of(frame.dtype);
        const auto result =
            cuda::api().copy_async(out_[items[i].slot].data, frame.data, size_bytes, cuda::handle_of(on));
        cuda::check(result, "copying a frame to the host");
    }
    made.buffer->used_on(on);  // finish() waits
}

BatchWriter::BatchWriter(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream)
    : transform_(std::move(transform)),
      out_(std::move(out)),
      on_gpu_(std::make_unique<OnGpu>(transform_, out_, context, stream)) {}

BatchWriter::~BatchWriter() = default;

void BatchWriter::write(std::int64_t slot, const Frame& frame) {
    const auto place = out_[slot];
    if (!fits(frame, transform_, place)) {
        const std::lock_guard lock(mutex_);
        misfits_.emplace(frame.index, misfit_text(frame, place));
        return;
    }
    if (frame.device == Device{} && place.device == Device{}) return transform_(frame, place);
    on_gpu_->add(slot, frame);
}

void BatchWriter::finish() {
    on_gpu_->finish();
    // The lowest one, whichever thread met one first: the same request fails with the same words.
    if (!misfits_.empty()) fail(ErrorCode::unsupported, misfits_.begin()->second);
}

void expect_fits(const Frame& frame, const Transform& transform, const TensorView& place) {
    TRICODEC_EXPECT(fits(frame, transform, place), unsupported, misfit_text(frame, place));
}

const std::vector<std::int64_t>& SlotSink::resolve() {
    frames_.clear();
    distinct_.clear();
    for (const auto& request : requests_) {
        const auto& numbers = frames_.emplace_back(request.of(reader_)).numbers;
        distinct_.insert(distinct_.end(), numbers.begin(), numbers.end());
    }
    std::ranges::sort(distinct_);
    const auto repeats = std::ranges::unique(distinct_);
    distinct_.erase(repeats.begin(), repeats.end());
    std::erase(distinct_, kNoFrame);
    slots_.assign(distinct_.size(), {});
    std::int64_t slot = 0;
    for (const auto& frames : frames_) {
        for (const auto number : frames.numbers) {
            const auto position = std::ranges::lower_bound(distinct_, number) - distinct_.begin();
            if (number != kNoFrame) slots_[static_cast<std::size_t>(position)].push_back(slot);
            ++slot;
        }
    }
    return distinct_;
}

void SlotSink::put(std::int64_t position, Frame frame) {
    for (const auto slot : slots_[static_cast<std::size_t>(position)]) write(slot, frame);
}

namespace {

void expect_within_limit(std::size_t num_frames, std::int64_t size_bytes) {
    const auto most = limits().max_output_bytes;
    TRICODEC_EXPECT(size_bytes <= most, refused,
                    std::to_string(num_frames) + " frames take " + std::to_string(size_bytes) +
                        " bytes, past limits.max_output_bytes = " + std::to_string(most) +
                        "; iterate over the reader, take batches(), ask for fewer frames at a time, or raise the limit "
                        "with set_limits()");
}

std::vector<FrameRequest> requests_of(const std::vector<FrameReader::Part>& parts) {
    std::vector<FrameRequest> requests;
    for (const auto& part : parts) requests.push_back(part.request);
    return requests;
}

}  // namespace

void FrameListSink::start() {
    list_.assign(frames().front().numbers.size(), {});
    counted_.clear();
    size_bytes_ = 0;
    if (distinct().empty()) return;
    const auto shape = reader().geometry(distinct().front());
    if (shape.format == PixelFormat::unknown) return;
    expect_within_limit(distinct().size(), std::ssize(distinct()) * shape.size_bytes());
}

void FrameListSink::write(std::int64_t slot, const Frame& frame) {
    {
        // Summed up by frame, because a stream may change its size.
        const std::lock_guard lock(mutex_);
        if (counted_.insert(frame.index).second) size_bytes_ += frame.size_bytes();
        expect_within_limit(counted_.size(), size_bytes_);
    }
    list_[static_cast<std::size_t>(slot)] = frame;
}

TensorSink::TensorSink(FrameReader& reader, std::vector<FrameReader::Part> parts, std::uintptr_t context,
                       std::optional<StreamView> stream)
    : SlotSink(reader, requests_of(parts)), parts_(std::move(parts)), context_(context), stream_(stream) {}

void TensorSink::start() {
    outputs_.clear();
    std::int64_t first_slot = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const auto& [request, transform, place] = parts_[p];
        const auto& numbers = frames()[p].numbers;
        const auto num_frames = std::ssize(numbers);
        const auto some = std::ranges::find_if(numbers, [](auto number) { return number != kNoFrame; });
        const auto first = reader().geometry(some == numbers.end() ? 0 : *some);
        auto shape = transform.output_shape(first.width, first.height, first.orientation);
        shape.insert(shape.begin(), num_frames);
        const TensorView out = place(shape);
        TRICODEC_EXPECT(!out.shape.empty() && out.shape[0] == num_frames, invalid_argument,
                        "the output is " + describe(out) + "; its first axis must be the number of frames, " +
                            std::to_string(num_frames));
        TRICODEC_EXPECT(out.dtype == transform.options().dtype, invalid_argument,
                        "the output is " + describe(out) + ", but the transform writes " +
                            std::string(to_string(transform.options().dtype)));
        outputs_.push_back({first_slot, std::make_unique<BatchWriter>(transform, out, context_, stream_)});
        first_slot += num_frames;
    }
}

void TensorSink::write(std::int64_t slot, const Frame& frame) {
    const auto& [first_slot, writer] = *std::prev(std::ranges::upper_bound(outputs_, slot, {}, &Output::first_slot));
    writer->write(slot - first_slot, frame);
}

void TensorSink::finish() {
    for (const auto& output : outputs_) output.writer->finish();
}

}  // namespace tricodec
