// SPDX-License-Identifier: Apache-2.0
/// Arrays and frames between the memory of the host and of GPUs.
#include <cstring>
#include <memory>

#include "base/cuda/context.h"
#include "base/cuda/memory.h"
#include "tensor/frame_layout.h"
#include "tricodec/base/error.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {
namespace {

/// Rows of bytes that one 2-D copy takes.
struct Rows {
    std::size_t count = 1;
    std::size_t bytes = 0;
    std::size_t stride_bytes = 0;
};

Rows rows_of(const TensorView& view) {
    const auto all = static_cast<std::size_t>(view.num_elements()) * size_of(view.dtype);
    if (view.is_contiguous()) return {1, all, all};
    const bool rows = view.strides_bytes[0] > 0 && view[0].is_contiguous() && view.shape[0] > 0;
    const auto bytes = rows ? all / static_cast<std::size_t>(view.shape[0]) : 0;
    TRICODEC_EXPECT(rows && static_cast<std::size_t>(view.strides_bytes[0]) >= bytes, unsupported,
                    "an array on a GPU with rows that are not C-contiguous cannot be copied: " + describe(view) +
                        "; copy it with the library that made it");
    return {static_cast<std::size_t>(view.shape[0]), bytes, static_cast<std::size_t>(view.strides_bytes[0])};
}

void copy_rows(const TensorView& from, void* to, bool to_host, StreamView stream) {
    const Rows rows = rows_of(from);
    if (rows.bytes == 0) return;
    cuda::Copy2D copy;
    copy.source_device = reinterpret_cast<cuda::DevicePointer>(from.data);
    copy.source_stride_bytes = rows.stride_bytes;
    copy.target_stride_bytes = rows.bytes;
    copy.width_bytes = rows.bytes;
    copy.height = rows.count;
    if (rows.count == 1) {  // of any length, which rows of a 2-D copy are not
        return cuda::check(cuda::api().copy_async(to, from.data, rows.bytes, cuda::handle_of(stream)),
                           "copying an array");
    }
    if (to_host) {
        copy.target_type = cuda::MemoryType::host;
        copy.target_host = to;
    } else {
        copy.target_device = reinterpret_cast<cuda::DevicePointer>(to);
    }
    cuda::check(cuda::api().copy_2d_async(&copy, cuda::handle_of(stream)), "copying an array");
}

std::shared_ptr<cuda::Context> context_of(const TensorView& view, const Buffer* buffer) {
    TRICODEC_EXPECT(view.device.kind == Device::Kind::cuda, invalid_argument, describe(view) + " is not on a GPU");
    auto context = buffer == nullptr ? nullptr : buffer->context();
    return context ? context : cuda::Context::primary(view.device.index);
}

}  // namespace

Tensor to_host(const TensorView& view, const Buffer* buffer, bool page_locked) {
    const auto size_bytes = static_cast<std::size_t>(view.num_elements()) * size_of(view.dtype);
    if (!page_locked && size_bytes > cuda::kIdlePinnedBytes) {  // to lock and unlock its pages takes longer
        Tensor host = Tensor::empty(view.shape, view.dtype);
        const auto part_bytes = size_bytes / static_cast<std::size_t>(view.shape[0]);
        for (std::int64_t i = 0; i < view.shape[0]; ++i) {
            std::memcpy(host.view[i].data, to_host(view[i], buffer).view.data, part_bytes);
        }
        return host;
    }
    const auto context = context_of(view, buffer);
    const StreamView stream = cuda::thread_stream(context);
    Tensor host = Tensor::empty_pinned(view.shape, view.dtype, view.device);
    const cuda::ContextScope scope(*context);
    if (buffer != nullptr) buffer->wait_on(stream);
    copy_rows(view, host.view.data, true, stream);
    cuda::check(cuda::api().stream_synchronize(cuda::handle_of(stream)), "waiting for the copy of an array");
    return host;
}

Tensor copy_on_device(const TensorView& view, const Buffer* buffer, StreamView stream) {
    const auto context = cuda::Context::of(stream, view.device.index);
    Tensor copy = Tensor::empty(view.shape, view.dtype, view.device, stream);
    const cuda::ContextScope scope(*context);
    if (buffer != nullptr) buffer->wait_on(stream);
    copy_rows(view, copy.view.data, false, stream);
    copy.buffer->written_on(stream);
    if (buffer != nullptr) buffer->used_on(stream);
    return copy;
}

/// One copy a plane, rows to rows.
void copy_planes(const Frame& from, const Frame& to, StreamView stream) {
    const auto& layout = info(from.format);
    const auto place = [](const Frame& frame, const Plane& plane, auto& type, auto& host, auto& device) {
        if (frame.device.kind == Device::Kind::cuda) {
            type = cuda::MemoryType::device;
            device = reinterpret_cast<cuda::DevicePointer>(plane.data);
        } else {
            type = cuda::MemoryType::host;
            host = plane.data;
        }
    };
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto& source = from.planes[static_cast<std::size_t>(plane)];
        const auto& target = to.planes[static_cast<std::size_t>(plane)];
        TRICODEC_EXPECT(source.stride_bytes > 0 && target.stride_bytes > 0, unsupported,
                        "a frame with rows from bottom to top cannot be copied to or from a GPU");
        cuda::Copy2D copy;
        place(from, source, copy.source_type, copy.source_host, copy.source_device);
        place(to, target, copy.target_type, copy.target_host, copy.target_device);
        copy.source_stride_bytes = static_cast<std::size_t>(source.stride_bytes);
        copy.target_stride_bytes = static_cast<std::size_t>(target.stride_bytes);
        copy.width_bytes = static_cast<std::size_t>(layout.row_bytes(plane, from.width));
        copy.height = static_cast<std::size_t>(layout.plane_height(plane, from.height));
        cuda::check(cuda::api().copy_2d_async(&copy, cuda::handle_of(stream)), "copying a frame");
    }
}

Frame to_host(const Frame& frame) {
    if (frame.device.kind == Device::Kind::cpu) return frame;
    auto context = frame.buffer ? frame.buffer->context() : nullptr;
    if (!context) context = cuda::Context::primary(frame.device.index);
    const StreamView stream = cuda::thread_stream(context);
    Frame host =
        lay_out(frame.format, frame.width, frame.height,
                Buffer::allocate_pinned(packed_buffer_bytes(frame.format, frame.width, frame.height), frame.device));
    copy_properties(frame, host);
    cuda::ContextScope scope(*context);
    if (frame.buffer) frame.buffer->wait_on(stream);
    copy_planes(frame, host, stream);
    cuda::check(cuda::api().stream_synchronize(cuda::handle_of(stream)), "waiting for the copy of a frame");
    return host;
}

Frame to_device(const Frame& frame, Device device, StreamView stream) {
    TRICODEC_EXPECT(device.kind == Device::Kind::cuda, invalid_argument,
                    "'" + device.to_string() + "' is not a GPU; to_host() copies frames to the host");
    if (frame.device == device) return frame;
    TRICODEC_EXPECT(frame.device.kind == Device::Kind::cpu, unsupported,
                    "a frame of " + frame.device.to_string() + " cannot be copied to " + device.to_string() +
                        " directly; bring it to the host first");
    Frame copy = alloc_frame(frame.format, frame.width, frame.height, device, stream);
    copy_properties(frame, copy);
    cuda::ContextScope scope(*cuda::Context::of(stream, device.index));
    copy_planes(frame, copy, stream);
    copy.buffer->written_on(stream);
    if (frame.alpha) copy.alpha = std::make_shared<const Frame>(to_device(*frame.alpha, device, stream));
    return copy;
}

Frame copy_on_device(const Frame& frame, StreamView stream) {
    TRICODEC_EXPECT(frame.device.kind == Device::Kind::cuda, invalid_argument,
                    "the frame is in host memory, not on a GPU");
    Frame copy = alloc_frame(frame.format, frame.width, frame.height, frame.device, stream);
    copy_properties(frame, copy);
    cuda::ContextScope scope(*copy.buffer->context());
    if (frame.buffer) frame.buffer->wait_on(stream);
    copy_planes(frame, copy, stream);
    copy.buffer->written_on(stream);
    if (frame.buffer) frame.buffer->used_on(stream);
    return copy;
}

}  // namespace tricodec
