// SPDX-License-Identifier: Apache-2.0

#include "base/cuda/context.h"
#include "tensor/frame_layout.h"
#include "tricodec/base/error.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

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
