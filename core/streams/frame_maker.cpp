// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_encoder.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <cstring>

#include "base/suggestion.h"
#include "ffmpeg/samples.h"
#include "tricodec/base/text.h"

namespace tricodec::streams {
namespace {

std::string shape_of(const TensorView& view) {
    return "(" + listed_numbers(view.shape) + ")";
}

/// Three planes to pixels of three bytes, in a form that compilers vectorize.
void weave(const std::byte* r, const std::byte* g, const std::byte* b, std::byte* to, int width) {
    for (int x = 0; x < width; ++x) {
        to[3 * x] = r[x];
        to[3 * x + 1] = g[x];
        to[3 * x + 2] = b[x];
    }
}

}  // namespace

FrameMaker FrameMaker::video(AVPixelFormat format, int width, int height) {
    TRICODEC_EXPECT(
        width > 0 && height > 0, invalid_argument,
        "width and height must be positive, not " + std::to_string(width) + " and " + std::to_string(height));
    const auto& description = *av_pix_fmt_desc_get(format);
    const auto refuse = [&] {
        fail(ErrorCode::invalid_argument, "format '" + std::string(description.name) +
                                              "' is not accepted for chunks; use rgb24, bgr24, gray8, yuv444p, gbrp, "
                                              "rgb0, bgr0, rgba, bgra, rgb48le, yuv420p or nv12");
    };
    constexpr auto kOther = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                            AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
    if ((description.flags & kOther) != 0) refuse();
    const int bytes = description.comp[0].depth > 8 ? 2 : 1;
    FrameMaker maker;
    maker.format_ = format;
    maker.width_ = width;
    maker.height_ = height;
    maker.dtype_ = bytes == 2 ? DType::uint16 : DType::uint8;
    const bool planar = (description.flags & AV_PIX_FMT_FLAG_PLANAR) != 0;
    if (description.log2_chroma_w == 1 && description.log2_chroma_h == 1 && planar) {
        TRICODEC_EXPECT(
            width % 2 == 0 && height % 2 == 0, invalid_argument,
            std::string(description.name) + " needs an even width and height, not " + size_text(width, height));
        maker.raw_ = true;
        maker.channels_ = maker.needed_channels_ = 1;
    } else if (description.log2_chroma_w != 0 || description.log2_chroma_h != 0) {
        refuse();
    } else if (planar) {
        maker.channels_ = maker.needed_channels_ = description.nb_components;
        for (int i = 0; i < description.nb_components; ++i) maker.planes_.push_back(description.comp[i].plane);
    } else {
        for (int i = 0; i < description.nb_components; ++i) {
            if (description.comp[i].step % bytes != 0 || description.comp[i].depth != 8 * bytes) refuse();
        }
        maker.channels_ = description.comp[0].step / bytes;
        const bool padded = maker.channels_ > description.nb_components && description.comp[2].offset < 3 * bytes;
        maker.needed_channels_ = padded ? maker.channels_ - 1 : maker.channels_;
    }
    return maker;
}

FrameMaker FrameMaker::audio(AVSampleFormat format, int num_channels, int sample_rate) {
    constexpr int kMostChannels = 512;  // as in libavcodec
    TRICODEC_EXPECT(num_channels > 0 && num_channels <= kMostChannels, invalid_argument,
                    "num_channels must be from 1 to 512, not " + std::to_string(num_channels));
    TRICODEC_EXPECT(sample_rate > 0, invalid_argument,
                    "sample_rate must be positive, not " + std::to_string(sample_rate));
    const auto dtype = sample_dtype(format);
    TRICODEC_EXPECT(dtype && av_sample_fmt_is_planar(format) == 0, invalid_argument,
                    "audio format must be one of u8, s16, s32, s64, flt, dbl");
    FrameMaker maker;
    maker.video_ = false;
    maker.format_ = format;
    maker.dtype_ = *dtype;
    maker.channels_ = maker.needed_channels_ = num_channels;
    maker.sample_rate_ = sample_rate;
    return maker;
}

std::string FrameMaker::expected_shape() const {
    if (!video_) return "(N, " + std::to_string(channels_) + ")";
    return "(N, " + std::to_string(needed_channels_) + ", " + std::to_string(raw_ ? height_ * 3 / 2 : height_) + ", " +
           std::to_string(width_) + ")";
}

void FrameMaker::expect(const TensorView& chunk) const {
    // Two's complement: int16 and uint16 have the same bytes.
    const bool same = chunk.dtype == dtype_ || (dtype_ == DType::uint16 && chunk.dtype == DType::int16);
    TRICODEC_EXPECT(
        same, invalid_argument,
        "Expected Tensor of " + std::string(to_string(dtype_)) + " type, found " + std::string(to_string(chunk.dtype)));
    const std::size_t axes = video_ ? 4 : 2;
    TRICODEC_EXPECT(chunk.shape.size() == axes, invalid_argument,
                    "Input Tensor has to be " + std::to_string(axes) + "D, found shape " + shape_of(chunk));
    bool fits = chunk.shape[1] == needed_channels_ || chunk.shape[1] == channels_;
    if (video_) fits = fits && chunk.shape[2] == (raw_ ? height_ * 3 / 2 : height_) && chunk.shape[3] == width_;
    TRICODEC_EXPECT(fits, invalid_argument,
                    "Expected tensor with shape " + expected_shape() + (video_ ? " (NCHW format)" : "") + ". Found " +
                        shape_of(chunk));
}

AVFrame* FrameMaker::make(const TensorView& chunk, std::int64_t from, std::int64_t count) {
    const bool reusable =
        frame_ != nullptr && (video_ || frame_->nb_samples == count) && av_frame_is_writable(frame_.get()) != 0;
    if (!reusable) {
        frame_ = ff::make_frame();
        frame_->format = format_;
        if (video_) {
            frame_->width = width_;
            frame_->height = height_;
        } else {
            frame_->nb_samples = static_cast<int>(count);
            frame_->sample_rate = sample_rate_;
            av_channel_layout_default(&frame_->ch_layout, channels_);
        }
        ff::check(av_frame_get_buffer(frame_.get(), 0), "could not allocate a frame");
    }
    if (video_) {
        fill_picture(chunk[from]);
    } else {
        fill_samples(chunk, from, count);
    }
    return frame_.get();
}

void FrameMaker::fill_picture(const TensorView& picture) {
    if (!raw_) return planes_.empty() ? fill_packed(picture) : fill_planes(picture);
    TensorView whole = picture;
    Tensor copy;
    if (!whole.is_contiguous()) {  // rare: the rows of a wider array
        copy = Tensor::empty(whole.shape, whole.dtype);
        const auto bytes = size_of(dtype_);
        auto* to = static_cast<std::byte*>(copy.view.data);
        for (std::int64_t y = 0; y < whole.shape[1]; ++y) {
            copy_elements(bytes, static_cast<const std::byte*>(whole.data) + y * whole.strides_bytes[1],
                          whole.strides_bytes[2], to + y * whole.shape[2] * static_cast<std::int64_t>(bytes),
                          static_cast<std::int64_t>(bytes), whole.shape[2]);
        }
        whole = copy.view;
    }
    std::uint8_t* data[4] = {};
    int strides[4] = {};
    const auto format = static_cast<AVPixelFormat>(format_);
    ff::check(
        av_image_fill_arrays(data, strides, static_cast<const std::uint8_t*>(whole.data), format, width_, height_, 1),
        "the frame's bytes");
    av_image_copy(frame_->data, frame_->linesize, const_cast<const std::uint8_t**>(data), strides, format, width_,
                  height_);
}

void FrameMaker::fill_packed(const TensorView& picture) {
    const auto bytes = static_cast<std::int64_t>(size_of(dtype_));
    const auto pixel = bytes * channels_;
    const auto given = picture.shape[0];
    const auto& strides = picture.strides_bytes;
    const auto* from = static_cast<const std::byte*>(picture.data);
    for (int y = 0; y < height_; ++y, from += strides[1]) {
        auto* to = reinterpret_cast<std::byte*>(frame_->data[0]) + std::ptrdiff_t{y} * frame_->linesize[0];
        if (given == channels_ && (strides[0] == bytes || channels_ == 1) && strides[2] == pixel) {
            std::memcpy(to, from, static_cast<std::size_t>(pixel * width_));
        } else if (bytes == 1 && channels_ == 3 && strides[2] == 1) {
            weave(from, from + strides[0], from + 2 * strides[0], to, width_);
        } else {
            for (std::int64_t c = 0; c < given; ++c) {
                copy_elements(static_cast<std::size_t>(bytes), from + c * strides[0], strides[2], to + c * bytes, pixel,
                              width_);
            }
            for (std::int64_t c = given; c < channels_; ++c) {  // padding is always zero
                for (int x = 0; x < width_; ++x)
                    std::memset(to + x * pixel + c * bytes, 0, static_cast<std::size_t>(bytes));
            }
        }
    }
}

void FrameMaker::fill_planes(const TensorView& picture) {
    const auto bytes = size_of(dtype_);
    for (std::size_t c = 0; c < planes_.size(); ++c) {
        const int plane = planes_[c];
        const auto* from =
            static_cast<const std::byte*>(picture.data) + static_cast<std::int64_t>(c) * picture.strides_bytes[0];
        for (int y = 0; y < height_; ++y, from += picture.strides_bytes[1]) {
            auto* to = reinterpret_cast<std::byte*>(frame_->data[plane]) + std::ptrdiff_t{y} * frame_->linesize[plane];
            copy_elements(bytes, from, picture.strides_bytes[2], to, static_cast<std::int64_t>(bytes), width_);
        }
    }
}

void FrameMaker::fill_samples(const TensorView& chunk, std::int64_t from, std::int64_t count) {
    const auto bytes = static_cast<std::int64_t>(size_of(dtype_));
    const auto* row = static_cast<const std::byte*>(chunk.data) + from * chunk.strides_bytes[0];
    auto* to = reinterpret_cast<std::byte*>(frame_->data[0]);
    for (int c = 0; c < channels_; ++c) {
        copy_elements(static_cast<std::size_t>(bytes), row + c * chunk.strides_bytes[1], chunk.strides_bytes[0],
                      to + c * bytes, bytes * channels_, count);
    }
}

}  // namespace tricodec::streams
