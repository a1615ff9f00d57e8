// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "tricodec/encode_video.h"
#include "tricodec/error.h"
#include "tricodec/raw_frames.h"

namespace tricodec {
namespace {

int num_channels(OutputColor color) noexcept {
    return color == OutputColor::gray ? 1 : 3;
}

/// Where channel `c` begins in a picture, and how far its rows and samples are apart.
struct Channel {
    std::ptrdiff_t offset = 0;
    std::ptrdiff_t stride = 0;
    std::ptrdiff_t step = 0;
};

Channel channel_of(const PictureLayout& layout, int width, int height, int c) noexcept {
    const std::ptrdiff_t plane = std::ptrdiff_t{width} * height;
    switch (layout.layout) {
        case Layout::chw:
            return {c * plane, width, 1};
        case Layout::chw2:
            return {(c / 2) * 2 * plane + c % 2, std::ptrdiff_t{width} * 2, 2};
        case Layout::hwc8:
            return {c, std::ptrdiff_t{width} * 8, 8};
        default: {
            const int channels = num_channels(layout.color);
            return {c, std::ptrdiff_t{width} * channels, channels};
        }
    }
}

/// The shape of one picture, for messages.
std::string accepted(const PictureLayout& layout) {
    const int channels = num_channels(layout.color);
    switch (layout.layout) {
        case Layout::chw:
            return "[" + std::to_string(channels) + ", H, W]";
        case Layout::chw2:
            return "[" + std::to_string((channels + 1) / 2) + ", H, W, 2]";
        case Layout::hwc8:
            return "[H, W, 8]";
        default:
            return "[H, W, " + std::to_string(channels) + "]";
    }
}

std::string_view name_of(OutputColor color) noexcept {
    constexpr std::string_view kNames[] = {"rgb", "bgr", "gray", "yuv"};
    return kNames[static_cast<std::size_t>(color)];
}

/// The size of a picture of this shape; nothing where it is none of the layout's.
std::optional<std::pair<std::int64_t, std::int64_t>> size_of_picture(const PictureLayout& layout,
                                                                     std::span<const std::int64_t> shape) {
    const int channels = num_channels(layout.color);
    switch (layout.layout) {
        case Layout::chw:
            if (shape.size() != 3 || shape[0] != channels) return std::nullopt;
            return std::pair(shape[1], shape[2]);
        case Layout::chw2:
            if (shape.size() != 4 || shape[0] != (channels + 1) / 2 || shape[3] != 2) return std::nullopt;
            return std::pair(shape[1], shape[2]);
        case Layout::hwc8:
            if (shape.size() != 3 || shape[2] != 8) return std::nullopt;
            return std::pair(shape[0], shape[1]);
        default:
            if (shape.size() != 3 || shape[2] != channels) return std::nullopt;
            return std::pair(shape[0], shape[1]);
    }
}

}  // namespace

PictureArray::PictureArray(Tensor pixels, const PictureLayout& layout) : pixels_(std::move(pixels)), layout_(layout) {
    const DType wanted = layout_.format ? sample_dtype(*layout_.format) : DType::uint8;
    const std::string what = layout_.format ? "samples of " + std::string(to_string(*layout_.format))
                                            : std::string(name_of(layout_.color)) + " pictures to encode";
    const std::string remedy = layout_.format ? "" : ", 0 to 255: undo a normalization, then convert them";
    TRICODEC_EXPECT(
        pixels_.view.dtype == wanted, invalid_argument,
        "the pictures are " + describe(pixels_.view) + "; " + what + " are " + std::string(to_string(wanted)) + remedy);
    TRICODEC_EXPECT(pixels_.view.is_contiguous(), invalid_argument,
                    "the pictures are not C-contiguous: " + describe(pixels_.view));
    read_shape();
    TRICODEC_EXPECT(num_frames_ > 0, invalid_argument,
                    "there are 0 pictures (" + describe(pixels_.view) + "); a video has at least one");
    frame_bytes_ = pixels_.view.num_elements() / num_frames_ * static_cast<std::int64_t>(tricodec::size_of(wanted));
}

void PictureArray::read_shape() {
    const std::span<const std::int64_t> shape(pixels_.view.shape);
    if (layout_.format) {
        const RawFrames raw = read_raw_shape(*layout_.format, shape, 0, 0);
        num_frames_ = raw.num_frames;
        width_ = raw.width;
        height_ = raw.height;
        return;
    }
    const std::size_t axes = layout_.layout == Layout::chw2 ? 4 : 3;
    const bool sequence = shape.size() == axes + 1;
    const auto size = size_of_picture(layout_, sequence ? shape.subspan(1) : shape);
    const std::string one = accepted(layout_);
    TRICODEC_EXPECT(
        size && size->first > 0 && size->second > 0 && size->first <= (1 << 24) && size->second <= (1 << 24),
        invalid_argument,
        "pictures of color '" + std::string(name_of(layout_.color)) + "' and layout '" +
            std::string(to_string(layout_.layout)) + "' cannot be " + describe(pixels_.view) + "; accepted are " + one +
            ", and sequences [F, " + one.substr(1));
    num_frames_ = sequence ? shape[0] : 1;
    height_ = static_cast<int>(size->first);
    width_ = static_cast<int>(size->second);
}

Frame PictureArray::operator[](std::int64_t index) const {
    auto* data = static_cast<std::byte*>(pixels_.view.data) + index * frame_bytes_;
    const bool in_planes = layout_.layout == Layout::chw;
    const bool side_by_side = layout_.layout == Layout::hwc && layout_.color != OutputColor::yuv;
    if (!layout_.format && !in_planes && !side_by_side) {
        if (pixels_.view.device.kind == Device::Kind::cpu) return gathered(data);
        const TensorView one{.data = data,
                             .dtype = DType::uint8,
                             .device = pixels_.view.device,
                             .shape = {frame_bytes_},
                             .strides_bytes = {1}};
        return gathered(static_cast<const std::byte*>(to_host(one, pixels_.buffer.get()).view.data));
    }
    Frame frame = frame_here(data);
    frame.device = pixels_.view.device;
    frame.buffer = pixels_.buffer;
    return frame;
}

Frame PictureArray::frame_here(std::byte* data) const {
    const auto over = [&](PixelFormat format) { return frame_over(format, width_, height_, data, pixels_.owner); };
    if (layout_.format) return over(*layout_.format);
    if (layout_.color == OutputColor::gray) return over(PixelFormat::gray);
    if (layout_.color == OutputColor::yuv) return over(PixelFormat::yuv444p);
    const bool bgr = layout_.color == OutputColor::bgr;
    if (layout_.layout == Layout::hwc) return over(bgr ? PixelFormat::bgr24 : PixelFormat::rgb24);
    Frame frame = over(PixelFormat::gbrp);
    const auto memory = frame.planes;  // the array's own order
    frame.planes = {memory[1], memory[bgr ? 0 : 2], memory[bgr ? 2 : 0]};
    return frame;
}

Frame PictureArray::gathered(const std::byte* data) const {
    const PixelFormat format = layout_.color == OutputColor::gray  ? PixelFormat::gray
                               : layout_.color == OutputColor::yuv ? PixelFormat::yuv444p
                               : layout_.color == OutputColor::bgr ? PixelFormat::bgr24
                                                                   : PixelFormat::rgb24;
    Frame frame = alloc_frame(format, width_, height_);
    const auto& layout = info(format);
    for (int c = 0; c < num_channels(layout_.color); ++c) {
        const Channel from = channel_of(layout_, width_, height_, c);
        // Channel 0 of bgr is blue, which is component 2 of a picture of red, green and blue.
        const int component = layout_.color == OutputColor::bgr ? 2 - c : c;
        const ComponentLayout& to = layout.components[static_cast<std::size_t>(component)];
        for (int y = 0; y < height_; ++y) {
            const std::byte* source = data + from.offset + y * from.stride;
            std::byte* target = frame.planes[to.plane].data + y * frame.planes[to.plane].stride_bytes + to.offset_bytes;
            for (int x = 0; x < width_; ++x) target[std::ptrdiff_t{x} * to.step_bytes] = source[x * from.step];
        }
    }
    return frame;
}

}  // namespace tricodec
