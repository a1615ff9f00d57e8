// SPDX-License-Identifier: Apache-2.0
#include "video/device_batch.h"

#include <cstring>
#include <utility>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "tricodec/log.h"

namespace tricodec {
namespace {

// Enough for a launch to fill a GPU, few enough that decoded surfaces are soon free again.
constexpr std::size_t kFramesAtOnce = 16;

/// Element by element along the axes that are not side by side.
void copy_strided(const std::byte* from, const TensorView& to) {
    if (to.is_contiguous()) {
        std::memcpy(to.data, from, static_cast<std::size_t>(to.num_elements()) * size_of(to.dtype));
        return;
    }
    if (to.shape.empty()) {
        std::memcpy(to.data, from, size_of(to.dtype));
        return;
    }
    std::int64_t step = static_cast<std::int64_t>(size_of(to.dtype));
    for (std::size_t axis = 1; axis < to.shape.size(); ++axis) step *= to.shape[axis];
    for (std::int64_t i = 0; i < to.shape[0]; ++i) copy_strided(from + i * step, to[i]);
}

bool is_page_locked(const void* pointer) {
    unsigned type = 0;
    const auto address = reinterpret_cast<cuda::DevicePointer>(pointer);
    return cuda::api().pointer_get_attribute(&type, cuda::PointerAttribute::memory_type, address) == cuda::kSuccess &&
           type == static_cast<unsigned>(cuda::MemoryType::host);
}

}  // namespace

DeviceBatch::DeviceBatch(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream)
    : transform_(std::move(transform)),
      out_(std::move(out)),
      context_(context),
      callers_(stream),
      mutex_(std::make_unique<std::mutex>()) {
    if (out_.device.kind == Device::Kind::cpu || !callers_) return;
    // Not on the caller's own stream: work is queued from many threads, and each has a per-thread default stream.
    stream_ = std::make_shared<cuda::Stream>(cuda::Context::of_caller(context_, out_.device));
    cuda::Event::record(*stream_->context(), *callers_).wait_on(*stream_);
}
DeviceBatch::DeviceBatch(DeviceBatch&&) noexcept = default;
DeviceBatch::~DeviceBatch() {
    if (!stream_ || finished_) return;
    try {
        stream_->synchronize();  // a read that failed: nothing may write the caller's memory any more
    } catch (const std::exception& error) {
        log(LogLevel::warning, error.what());
    }
}

void DeviceBatch::add(std::int64_t slot, const Frame& frame) {
    std::vector<Item> items;
    {
        std::lock_guard lock(*mutex_);
        waiting_.push_back({slot, frame});
        if (waiting_.size() < kFramesAtOnce) return;
        items.swap(waiting_);
    }
    run(std::move(items));
}

void DeviceBatch::clear() {
    waiting_.clear();
}

void DeviceBatch::finish() {
    if (!waiting_.empty()) run(std::exchange(waiting_, {}));
    if (!stream_) return;
    finished_ = true;
    if (callers_ && out_.device.kind == Device::Kind::cuda) {
        cuda::Event::record(*stream_->context(), *stream_).wait_on(*callers_);
    } else {
        stream_->synchronize();
    }
}

std::shared_ptr<cuda::Stream> DeviceBatch::stream(Device device) {
    std::lock_guard lock(*mutex_);
    if (stream_) return stream_;
    stream_ = std::make_shared<cuda::Stream>(cuda::Context::of_caller(context_, device));
    page_locked_ = out_.device.kind == Device::Kind::cpu && is_page_locked(out_.data);
    return stream_;
}

void DeviceBatch::run(std::vector<Item> items) {
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

void DeviceBatch::copy_back(const Tensor& made, const std::vector<Item>& items, const cuda::Stream& on) {
    const auto size_bytes = static_cast<std::size_t>(made.view.num_elements()) * size_of(made.view.dtype);
    const auto frame_bytes = size_bytes / items.size();
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
        const cuda::ContextScope scope(*on.context());
        cuda::check(
            cuda::api().copy_to_host_async(to, reinterpret_cast<cuda::DevicePointer>(from), bytes, cuda::handle_of(on)),
            "copying a batch to the host");
    };
    const auto* frames = static_cast<const std::byte*>(made.view.data);
    if (page_locked_ && out_[items.front().slot].is_contiguous()) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            copy(out_[items[i].slot].data, frames + i * frame_bytes, frame_bytes);
        }
        made.buffer->used_on(on);
        return;  // finish() waits
    }
    const auto host = Buffer::allocate_pinned(size_bytes, made.view.device);
    copy(host->data(), frames, size_bytes);
    host->written_on(on);
    host->wait();
    for (std::size_t i = 0; i < items.size(); ++i) {
        copy_strided(host->data() + i * frame_bytes, out_[items[i].slot]);
    }
}

}  // namespace tricodec
