// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "ffmpeg/samples.h"
#include "streams/chunk_buffer.h"

namespace tricodec::streams {
namespace {

std::string format_name(const AVPixFmtDescriptor* description) {
    return description == nullptr ? "unknown" : description->name;
}

DType pixel_dtype(const AVPixFmtDescriptor& description) {
    const auto& first = description.comp[0];
    if ((description.flags & AV_PIX_FMT_FLAG_FLOAT) != 0) return DType::float32;
    if (first.depth <= 8) return DType::uint8;
    // Samples below 16 bits are int16, because torch computes with int16 but not with uint16.
    return first.depth < 16 && first.shift == 0 ? DType::int16 : DType::uint16;
}

/// True if each sample is a whole byte or word in this machine's byte order.
bool has_array(const AVPixFmtDescriptor& description) {
    constexpr auto kOther = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                            AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_BAYER;
    if ((description.flags & kOther) != 0 || description.nb_components == 0) return false;
    const int depth = description.comp[0].depth;
    const bool is_float = (description.flags & AV_PIX_FMT_FLAG_FLOAT) != 0;
    if (is_float ? depth != 32 : depth > 16) return false;
    for (int i = 0; i < description.nb_components; ++i) {
        const auto& component = description.comp[i];
        if (component.depth != depth) return false;
        if (depth < 8 || component.step < (depth + 7) / 8) return false;
    }
    return true;
}

/// A row of samples, each written 2^shift times.
template <class Sample>
void widen_row(const std::byte* from, int step, int shift, Sample* to, int width) {
    const auto at = [&](int index) { return load<Sample>(from + static_cast<std::ptrdiff_t>(index) * step); };
    if (shift == 1) {
        const int pairs = width / 2;
        for (int i = 0; i < pairs; ++i) to[2 * i] = to[2 * i + 1] = at(i);
        if (width % 2 != 0) to[width - 1] = at(pairs);
        return;
    }
    for (int x = 0; x < width; ++x) to[x] = at(x >> shift);
}

}  // namespace

ChunkLayout ChunkLayout::of(const AVFrame& frame, bool planar) {
    ChunkLayout layout;
    layout.format_ = frame.format;
    if (frame.nb_samples > 0) {
        const auto format = static_cast<AVSampleFormat>(frame.format);
        const auto dtype = sample_dtype(format);
        TRICODEC_EXPECT(dtype, unsupported,
                        "sample format " + std::to_string(frame.format) +
                            " has no array; let the filters end in aformat=sample_fmts=fltp");
        layout.dtype_ = *dtype;
        layout.interleaved_ = av_sample_fmt_is_planar(format) == 0;
        layout.channels_ = frame.ch_layout.nb_channels;
        return layout;
    }
    const auto* description = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    const auto refuse = [&] {
        fail(ErrorCode::unsupported, "frames of pixel format '" + format_name(description) +
                                         "' have no array; let the filters end in format=pix_fmts=rgb24 (or gray, "
                                         "yuv420p, yuv444p, nv12, rgba, rgb48le, ...)");
    };
    if (description == nullptr || !has_array(*description)) refuse();
    layout.video_ = true;
    layout.dtype_ = pixel_dtype(*description);
    layout.height_ = frame.height;
    layout.width_ = frame.width;
    const auto sample_bytes = static_cast<int>(size_of(layout.dtype_));
    const bool subsampled = description->log2_chroma_w != 0 || description->log2_chroma_h != 0;
    const int step = description->comp[0].step;
    layout.interleaved_ = !subsampled && step % sample_bytes == 0;
    for (int i = 0; i < description->nb_components; ++i) {
        const auto& component = description->comp[i];
        layout.interleaved_ = layout.interleaved_ && component.plane == 0 && component.step == step;
    }
    if (layout.interleaved_) {
        layout.channels_ = step / sample_bytes;  // rgb0 has four, one of them unused
        if (planar) {
            layout.interleaved_ = false;
            for (int c = 0; c < layout.channels_; ++c) layout.components_.push_back({0, c * sample_bytes, step, 0, 0});
        }
        return layout;
    }
    if ((description->flags & AV_PIX_FMT_FLAG_PLANAR) == 0) refuse();  // yuyv422 and its like
    layout.channels_ = description->nb_components;
    const bool is_rgb = (description->flags & AV_PIX_FMT_FLAG_RGB) != 0;
    for (int i = 0; i < description->nb_components; ++i) {
        const auto& component = description->comp[i];
        const bool chroma = !is_rgb && (i == 1 || i == 2);
        layout.components_.push_back({component.plane, component.offset, component.step,
                                      chroma ? description->log2_chroma_w : 0,
                                      chroma ? description->log2_chroma_h : 0});
    }
    return layout;
}

std::optional<ChunkLayout> ChunkLayout::of_samples(const Frame& frame) {
    const auto& format = info(frame.format);
    if (format.family != ColorFamily::yuv || format.depth != 8 || format.num_components != 3) return std::nullopt;
    ChunkLayout layout;
    layout.format_ = ff::to_av(frame.format);
    layout.video_ = true;
    layout.channels_ = format.num_components;
    layout.height_ = frame.height;
    layout.width_ = frame.width;
    return layout;
}

std::int64_t ChunkLayout::row_bytes() const noexcept {
    const auto samples = video_ ? std::int64_t{channels_} * height_ * width_ : std::int64_t{channels_};
    return samples * static_cast<std::int64_t>(size_of(dtype_));
}

Tensor ChunkLayout::allocate(std::int64_t num_rows, Device device, StreamView stream) const {
    if (!video_) return Tensor::empty({num_rows, channels_}, dtype_, device, stream);
    if (!interleaved_) return Tensor::empty({num_rows, channels_, height_, width_}, dtype_, device, stream);
    auto tensor = Tensor::empty({num_rows, height_, width_, channels_}, dtype_, device, stream);
    const auto stride = tensor.view.strides_bytes;
    tensor.view.shape = {num_rows, channels_, height_, width_};
    tensor.view.strides_bytes = {stride[0], stride[3], stride[1], stride[2]};
    return tensor;
}

void ChunkLayout::write(const AVFrame& frame, std::int64_t from, std::int64_t count, const Tensor& to,
                        std::int64_t at) const {
    auto* out = static_cast<std::byte*>(to.view.data) + at * row_bytes();
    if (video_) {
        write_picture(frame, out);
    } else {
        write_samples(frame, from, count, out);
    }
}

void ChunkLayout::write_picture(const AVFrame& frame, std::byte* to) const {
    const auto sample_bytes = size_of(dtype_);
    const auto row = [&](int plane, int y) {
        return reinterpret_cast<const std::byte*>(frame.data[plane]) + std::ptrdiff_t{y} * frame.linesize[plane];
    };
    if (interleaved_) {
        const auto line = static_cast<std::size_t>(width_) * channels_ * sample_bytes;
        for (int y = 0; y < height_; ++y, to += line) std::memcpy(to, row(0, y), line);
        return;
    }
    const auto line = static_cast<std::size_t>(width_) * sample_bytes;
    for (const auto& component : components_) {
        for (int y = 0; y < height_; ++y, to += line) {
            const int from_y = y >> component.shift_y;
            if (y > 0 && from_y == (y - 1) >> component.shift_y) {
                std::memcpy(to, to - line, line);
                continue;
            }
            const auto* from = row(component.plane, from_y) + component.offset_bytes;
            if (component.shift_x == 0) {
                copy_elements(sample_bytes, from, component.step_bytes, to, static_cast<std::int64_t>(sample_bytes),
                              width_);
            } else if (sample_bytes == 1) {
                widen_row(from, component.step_bytes, component.shift_x, reinterpret_cast<std::uint8_t*>(to), width_);
            } else if (sample_bytes == 2) {
                widen_row(from, component.step_bytes, component.shift_x, reinterpret_cast<std::uint16_t*>(to), width_);
            } else {
                widen_row(from, component.step_bytes, component.shift_x, reinterpret_cast<float*>(to), width_);
            }
        }
    }
}

void ChunkLayout::write_samples(const AVFrame& frame, std::int64_t from, std::int64_t count, std::byte* to) const {
    if (interleaved_ || channels_ == 1) {
        const auto bytes = static_cast<std::size_t>(row_bytes());
        std::memcpy(to, frame.extended_data[0] + static_cast<std::size_t>(from) * bytes,
                    static_cast<std::size_t>(count) * bytes);
        return;
    }
    const auto bytes = static_cast<std::int64_t>(size_of(dtype_));
    for (int channel = 0; channel < channels_; ++channel) {
        const auto* plane = reinterpret_cast<const std::byte*>(frame.extended_data[channel]) + from * bytes;
        copy_elements(size_of(dtype_), plane, bytes, to + channel * bytes, bytes * channels_, count);
    }
}

}  // namespace tricodec::streams
