// SPDX-License-Identifier: Apache-2.0
#include "video/device_batch.h"

#include <cstring>
#include <utility>

#include "base/cuda/context.h"

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

}  // namespace

DeviceBatch::DeviceBatch(Transform transform, TensorView out)
    : transform_(std::move(transform)), out_(std::move(out)), mutex_(std::make_unique<std::mutex>()) {}
DeviceBatch::DeviceBatch(DeviceBatch&&) noexcept = default;
DeviceBatch::~DeviceBatch() = default;

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
    if (stream_) stream_->synchronize();
}

std::shared_ptr<cuda::Stream> DeviceBatch::stream(Device device) {
    std::lock_guard lock(*mutex_);
    if (!stream_) stream_ = std::make_shared<cuda::Stream>(cuda::Context::primary(device.index));
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

    const auto size_bytes = static_cast<std::size_t>(made.view.num_elements()) * size_of(made.view.dtype);
    const auto host = Buffer::allocate_pinned(size_bytes, gpu);
    {
        cuda::ContextScope scope(*on->context());
        cuda::check(cuda::api().copy_to_host_async(host->data(), reinterpret_cast<cuda::DevicePointer>(made.view.data),
                                                   size_bytes, cuda::handle_of(*on)),
                    "copying a batch to the host");
    }
    made.buffer->written_on(*on);
    host->written_on(*on);
    host->wait();
    for (std::size_t i = 0; i < items.size(); ++i) {
        copy_strided(host->data() + i * (size_bytes / items.size()), out_[items[i].slot]);
    }
}

}  // namespace tricodec
