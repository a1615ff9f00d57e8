// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "tensor/frame_layout.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

constexpr std::size_t kTailBytes = 64;  // kernels may load a whole vector at a row's last sample

DType dtype_of(const PixelFormatInfo& format) noexcept {
    return format.bytes_per_sample == 2 ? DType::uint16 : DType::uint8;
}

void expect_size(int width, int height) {
    const auto bounds = limits();
    TRICODEC_EXPECT(width >= 1 && height >= 1, invalid_argument, "a frame cannot be " + size_text(width, height));
    TRICODEC_EXPECT(
        width <= bounds.max_width && height <= bounds.max_height && std::int64_t{width} * height <= bounds.max_pixels,
        refused,
        "a frame of " + size_text(width, height) + " exceeds limits.max_width, max_height or max_pixels (" +
            std::to_string(bounds.max_width) + ", " + std::to_string(bounds.max_height) + ", " +
            std::to_string(bounds.max_pixels) + ")");
}

/// Calls write(bytes of a row) for the rows of all planes, one after another.
template <class Write>
void for_each_row(const Frame& frame, Write&& write) {
    const auto& layout = info(frame.format);
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto& memory = frame.planes[static_cast<std::size_t>(plane)];
        const auto row_bytes = static_cast<std::size_t>(layout.row_bytes(plane, frame.width));
        const std::byte* from = memory.data;
        for (int y = 0; y < layout.plane_height(plane, frame.height); ++y, from += memory.stride_bytes) {
            write(std::span<const std::byte>(from, row_bytes));
        }
    }
}

/// Writes elements to a strided array in the order of its indices, in runs. Axes that are side by side are one axis.
class StridedWriter {
public:
    explicit StridedWriter(const TensorView& out)
        : size_(size_of(out.dtype)), start_(static_cast<std::byte*>(out.data)), at_(start_) {
        for (std::size_t axis = 0; axis < out.shape.size(); ++axis) {
            const bool follows = strides_.back() == out.shape[axis] * out.strides_bytes[axis];
            if (!follows) shape_.push_back(1);
            if (!follows) strides_.push_back(0);
            shape_.back() *= out.shape[axis];
            strides_.back() = out.strides_bytes[axis];
        }
        index_.resize(shape_.size());
        dense_ = strides_.back() == static_cast<std::int64_t>(size_);
    }

    void write(std::span<const std::byte> elements) {
        while (!elements.empty()) {
            const auto last = index_.size() - 1;
            const auto room = static_cast<std::size_t>(shape_[last] - index_[last]) * size_;
            const auto run = elements.first(std::min(room, elements.size()));
            put(run);
            elements = elements.subspan(run.size());
            index_[last] += static_cast<std::int64_t>(run.size() / size_);
            if (run.size() == room) next_row();
        }
    }

private:
    void put(std::span<const std::byte> run) {
        const std::size_t each = dense_ ? run.size() : size_;
        const auto step = dense_ ? static_cast<std::int64_t>(each) : strides_.back();
        for (; !run.empty(); run = run.subspan(each), at_ += step) std::memcpy(at_, run.data(), each);
    }

    void next_row() {
        index_.back() = 0;
        for (auto axis = index_.size() - 1; axis-- > 0;) {
            if (++index_[axis] < shape_[axis]) break;
            index_[axis] = 0;
        }
        at_ = start_;
        for (std::size_t axis = 0; axis < index_.size(); ++axis) at_ += index_[axis] * strides_[axis];
    }

    std::size_t size_;
    std::byte* start_;
    std::byte* at_;
    std::vector<std::int64_t> shape_{1};  // with an axis of one element before those of the array
    std::vector<std::int64_t> strides_{0};
    std::vector<std::int64_t> index_;
    bool dense_;
};

}  // namespace

void copy_elements(const void* from, const TensorView& out) {
    const auto size_bytes = static_cast<std::size_t>(out.num_elements()) * size_of(out.dtype);
    StridedWriter(out).write({static_cast<const std::byte*>(from), size_bytes});
}

DType sample_dtype(PixelFormat format) {
    return dtype_of(info(format));
}

std::vector<std::int64_t> packed_shape(PixelFormat format, int width, int height) {
    const auto& layout = info(format);
    const std::int64_t w = width;
    const std::int64_t h = height;
    if (layout.num_planes == 1) {
        if (layout.num_components == 1) return {h, w};
        return {h, w, layout.num_components};
    }
    if (layout.num_planes == 3 && layout.log2_chroma_w == 0 && layout.log2_chroma_h == 0) return {3, h, w};
    const std::int64_t num_samples = layout.packed_bytes(width, height) / layout.bytes_per_sample;
    const bool even =
        w % (std::int64_t{1} << layout.log2_chroma_w) == 0 && h % (std::int64_t{1} << layout.log2_chroma_h) == 0;
    if (even && num_samples % w == 0) return {num_samples / w, w};
    return {num_samples};
}

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
    TensorView view{memory.data, dtype_of(layout), device, {}, {}};
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
                    "a " + std::string(layout.name) + " frame of " + size_text(width, height) +
                        " is not one strided array; use its planes, pack it, or convert it");
    if (layout.num_planes == 1) return plane_view(0);
    std::int64_t rows = 0;
    for (int plane = 0; plane < layout.num_planes; ++plane) rows += layout.plane_height(plane, height);
    return {planes[0].data,
            dtype_of(layout),
            device,
            {rows, layout.row_bytes(0, width) / layout.bytes_per_sample},
            {planes[0].stride_bytes, layout.bytes_per_sample}};
}

Frame frame_over(PixelFormat format, int width, int height, std::byte* data, std::shared_ptr<const void> owner) {
    const auto& layout = info(format);
    expect_size(width, height);
    Frame frame;
    frame.format = format;
    frame.width = width;
    frame.height = height;
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto stride = layout.row_bytes(plane, width);
        frame.planes[static_cast<std::size_t>(plane)] = {data, stride};
        data += stride * layout.plane_height(plane, height);
    }
    frame.owner = std::move(owner);
    return frame;
}

std::size_t packed_buffer_bytes(PixelFormat format, int width, int height) {
    return static_cast<std::size_t>(info(format).packed_bytes(width, height)) + kTailBytes;
}

Frame lay_out(PixelFormat format, int width, int height, std::shared_ptr<Buffer> buffer) {
    Frame frame = frame_over(format, width, height, buffer->data(), buffer);
    frame.device = buffer->device();
    if (frame.device.kind == Device::Kind::cuda) frame.buffer = std::move(buffer);
    return frame;
}

Frame alloc_frame(PixelFormat format, int width, int height) {
    return alloc_frame(format, width, height, Device{});
}

Frame alloc_frame(PixelFormat format, int width, int height, Device device, StreamView stream) {
    expect_size(width, height);
    return lay_out(format, width, height, Buffer::allocate(packed_buffer_bytes(format, width, height), device, stream));
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
    to.bottom_field_first = from.bottom_field_first;
    to.picture_type = from.picture_type;
}

void pack(const Frame& device_or_host_frame, std::span<std::byte> out) {
    const Frame frame = to_host(device_or_host_frame);
    TRICODEC_EXPECT(static_cast<std::int64_t>(out.size()) == frame.size_bytes(), invalid_argument,
                    "packing takes " + std::to_string(frame.size_bytes()) + " bytes, " + std::to_string(out.size()) +
                        " were given");
    auto* to = out.data();
    for_each_row(frame, [&to](std::span<const std::byte> row) {
        std::memcpy(to, row.data(), row.size());
        to += row.size();
    });
}

void pack(const Frame& device_or_host_frame, const TensorView& out) {
    const Frame frame = to_host(device_or_host_frame);
    const auto& layout = info(frame.format);
    const std::int64_t num_samples = frame.size_bytes() / layout.bytes_per_sample;
    TRICODEC_EXPECT(out.dtype == dtype_of(layout) && out.num_elements() == num_samples && out.device == Device{},
                    invalid_argument,
                    "packing takes " + std::to_string(num_samples) + " elements of " +
                        std::string(to_string(dtype_of(layout))) + "; the output is " + describe(out));
    StridedWriter writer(out);
    for_each_row(frame, [&writer](std::span<const std::byte> row) { writer.write(row); });
}

}  // namespace tricodec
