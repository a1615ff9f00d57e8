// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "arrays/cuda_streams.h"
#include "arrays/export.h"
#include "arrays/out_array.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

std::vector<std::int64_t> shape_of(const Transform& transform, std::span<const Frame> frames, bool single) {
    auto shape = transform.output_shape(frames[0].width, frames[0].height, frames[0].orientation);
    if (!single) shape.insert(shape.begin(), static_cast<std::int64_t>(frames.size()));
    return shape;
}

void run(const Transform& transform, std::span<const Frame> frames, bool single, const TensorView& out,
         StreamView stream) {
    if (single) {
        transform(frames[0], out, stream);
    } else {
        transform(frames, out, stream);
    }
}

/// Of frames on a GPU.
Tensor make(const Transform& transform, std::span<const Frame> frames, bool single, std::optional<StreamView> stream,
            std::optional<EventView> consumed) {
    const Frame& first = frames[0];
    const StreamView on = stream ? *stream : thread_stream(first.device, first.buffer.get());
    Tensor made = single ? transform(first, on) : transform(frames, on);
    if (consumed) record_event(*consumed, on, first.device.index);
    return made;
}

void write_to_gpu(const Transform& transform, std::span<const Frame> frames, bool single, const ArrayView& to,
                  const TensorView& view, bool wait, std::optional<EventView> consumed) {
    std::vector<Frame> there;
    for (const Frame& frame : frames) {
        wait = wait || frame.device.kind == Device::Kind::cpu;  // it must stay until it is copied
        there.push_back(to_device(frame, to.device, to.stream));
    }
    run(transform, there, single, view, to.stream);
    if (consumed) record_event(*consumed, to.stream, to.device.index);
    if (wait) wait_for(to.stream, to.device);
}

}  // namespace

Tensor empty_on_host(const std::vector<std::int64_t>& shape, DType dtype, const Device& made_on, bool pinned) {
    if (pinned && (made_on.kind == Device::Kind::cuda || gpu_unusable_reason(made_on.index).empty())) {
        return Tensor::empty_pinned(shape, dtype, {Device::Kind::cuda, made_on.index});
    }
    return Tensor::empty(shape, dtype);
}

void copy_to(const TensorView& from, const ArrayView& to) {
    const py::capsule base(from.data, [](void*) {});  // a base of any kind keeps numpy from copying
    py::module_::import("numpy").attr("copyto")(view_as_numpy(to, base), view_as_numpy({from, nullptr}, base));
}

Tensor in_pinned_memory(Tensor tensor) {
    if (tensor.view.device.kind == Device::Kind::cuda) return to_host(tensor.view, tensor.buffer.get(), true);
    Tensor locked = empty_on_host(tensor.view.shape, tensor.view.dtype, {}, true);
    const auto size = static_cast<std::size_t>(tensor.view.num_elements()) * size_of(tensor.view.dtype);
    std::memcpy(locked.view.data, tensor.view.data, size);
    return locked;
}

py::object transform_frames(const Transform& transform, std::span<const Frame> frames, bool single,
                            const py::object& out, std::optional<StreamView> stream, bool pinned,
                            const py::object& input_consumed) {
    TRICODEC_EXPECT(!frames.empty(), invalid_argument, "transform: a batch needs at least one frame");
    const DType dtype = transform.options().dtype;
    const Device device = frames[0].device;
    const auto consumed = to_consumed_event(input_consumed, device);
    const bool on_gpu = device.kind == Device::Kind::cuda;
    const auto shape = shape_of(transform, frames, single);
    if (out.is_none()) {
        if (!on_gpu || pinned) static_cast<void>(to_numpy_dtype(dtype));  // raises before the work is done, not after
        Tensor result;
        {
            const Unlocked unlocked;
            if (on_gpu) {
                result = make(transform, frames, single, stream, consumed);
                if (stream) result.buffer->lend_to(*stream);
                if (pinned) result = to_host(result.view, result.buffer.get(), true);
            } else {
                result = empty_on_host(shape, dtype, device, pinned);
                run(transform, frames, single, result.view, {});
            }
        }
        return to_array(std::move(result));
    }
    const ArrayView to = to_out_array(out, dtype, shape, device, stream);
    const TensorView view = to.tensor_view();
    Tensor host;
    {
        const Unlocked unlocked;
        if (to.on_gpu()) {
            write_to_gpu(transform, frames, single, to, view, !stream.has_value(), consumed);
        } else if (on_gpu) {
            const Tensor made = make(transform, frames, single, stream, consumed);
            host = to_host(made.view, made.buffer.get());
        } else {
            run(transform, frames, single, view, {});
        }
    }
    if (host.view.data != nullptr) copy_to(host.view, to);
    return out;
}

}  // namespace tricodec::python
