// SPDX-License-Identifier: Apache-2.0
#include "tricodec/frame.h"

#include <cmath>
#include <cstring>
#include <string>

#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec {
namespace {

constexpr std::size_t kTailBytes = 64;  // kernels may load a whole vector at a row's last sample

DType sample_dtype(const PixelFormatInfo& format) {
    return format.bytes_per_sample == 2 ? DType::uint16 : DType::uint8;
}

}  // namespace

double Frame::pts_seconds() const noexcept {
    if (pts == kNoTimestamp || !time_base.known()) return std::nan("");
    return static_cast<double>(pts) * static_cast<double>(time_base.num) / static_cast<double>(time_base.den);
}

TensorView Frame::plane_view(int plane) const {
    const auto& layout = info(format);
    TRICODEC_EXPECT(plane >= 0 && plane < layout.num_planes, out_of_range,
                    "plane " + std::to_string(plane) + " of a " + std::string(layout.name) +
                        " frame was asked for; it has planes 0.." + std::to_string(layout.num_planes - 1));
    const auto& memory = planes[static_cast<std::size_t>(plane)];
    const int components = layout.components_in_plane(plane);
    TensorView view{memory.data, sample_dtype(layout), device, {}, {}};
    view.shape = {layout.plane_height(plane, height), layout.plane_width(plane, width)};
    view.strides_bytes = {memory.stride_bytes, std::int64_t{components} * layout.bytes_per_sample};
    if (components > 1) {
        view.shape.push_back(components);
        view.strides_bytes.push_back(layout.bytes_per_sample);
    }
    return view;
}

bool Frame::has_single_view() const {
    const auto& layout = info(format);
    if (layout.num_planes == 1) return true;
    for (int plane = 1; plane < layout.num_planes; ++plane) {
        const auto& before = planes[static_cast<std::size_t>(plane - 1)];
        const auto& here = planes[static_cast<std::size_t>(plane)];
        const bool follows = here.data == before.data + before.stride_bytes * layout.plane_height(plane - 1, height);
        const bool same_rows = here.stride_bytes == before.stride_bytes &&
                               layout.row_bytes(plane, width) == layout.row_bytes(plane - 1, width);
        if (!follows || !same_rows) return false;
    }
    return true;
}

TensorView Frame::single_view() const {
    const auto& layout = info(format);
    TRICODEC_EXPECT(has_single_view(), unsupported,
                    "a " + std::string(layout.name) + " frame of " + std::to_string(width) + "x" +
                        std::to_string(height) + " is not one strided array; use its planes, pack it, or convert it");
    if (layout.num_planes == 1) return plane_view(0);
    std::int64_t rows = 0;
    for (int plane = 0; plane < layout.num_planes; ++plane) rows += layout.plane_height(plane, height);
    return {planes[0].data,
            sample_dtype(layout),
            device,
            {rows, layout.row_bytes(0, width) / layout.bytes_per_sample},
            {planes[0].stride_bytes, layout.bytes_per_sample}};
}

Frame alloc_frame(PixelFormat format, int width, int height) {
    const auto& layout = info(format);
    const auto bounds = limits();
    TRICODEC_EXPECT(width >= 1 && height >= 1, invalid_argument,
                    "a frame cannot be " + std::to_string(width) + "x" + std::to_string(height));
    TRICODEC_EXPECT(
        width <= bounds.max_width && height <= bounds.max_height && std::int64_t{width} * height <= bounds.max_pixels,
        refused,
        "a frame of " + std::to_string(width) + "x" + std::to_string(height) +
            " exceeds limits.max_width, max_height or max_pixels (" + std::to_string(bounds.max_width) + ", " +
            std::to_string(bounds.max_height) + ", " + std::to_string(bounds.max_pixels) + ")");
    auto buffer = Buffer::allocate(static_cast<std::size_t>(layout.packed_bytes(width, height)) + kTailBytes);
    Frame frame;
    frame.format = format;
    frame.width = width;
    frame.height = height;
    auto* at = buffer->data();
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto stride = layout.row_bytes(plane, width);
        frame.planes[static_cast<std::size_t>(plane)] = {at, stride};
        at += stride * layout.plane_height(plane, height);
    }
    frame.owner = std::move(buffer);
    return frame;
}

void copy_properties(const Frame& from, Frame& to) {
    to.pts = from.pts;
    to.duration = from.duration;
    to.time_base = from.time_base;
    to.index = from.index;
    to.color = from.color;
    to.sample_aspect_ratio = from.sample_aspect_ratio;
    to.orientation = from.orientation;
    to.key = from.key;
    to.corrupt = from.corrupt;
    to.interlaced = from.interlaced;
    to.picture_type = from.picture_type;
}

void pack(const Frame& frame, std::span<std::byte> out) {
    const auto& layout = info(frame.format);
    TRICODEC_EXPECT(static_cast<std::int64_t>(out.size()) == frame.size_bytes(), invalid_argument,
                    "packing takes " + std::to_string(frame.size_bytes()) + " bytes, " + std::to_string(out.size()) +
                        " were given");
    auto* to = out.data();
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto& memory = frame.planes[static_cast<std::size_t>(plane)];
        const auto row_bytes = static_cast<std::size_t>(layout.row_bytes(plane, frame.width));
        const auto* from = memory.data;
        for (int y = 0; y < layout.plane_height(plane, frame.height); ++y) {
            std::memcpy(to, from, row_bytes);
            to += row_bytes;
            from += memory.stride_bytes;
        }
    }
}

}  // namespace tricodec
