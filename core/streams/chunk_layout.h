// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "tricodec/tensor/dtype.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::streams {

/// The element type of a sample format, interleaved or planar; nothing for formats that have no array.
[[nodiscard]] inline std::optional<DType> sample_dtype(AVSampleFormat format) noexcept {
    switch (av_get_packed_sample_fmt(format)) {
        case AV_SAMPLE_FMT_U8:
            return DType::uint8;
        case AV_SAMPLE_FMT_S16:
            return DType::int16;
        case AV_SAMPLE_FMT_S32:
            return DType::int32;
        case AV_SAMPLE_FMT_S64:
            return DType::int64;
        case AV_SAMPLE_FMT_FLT:
            return DType::float32;
        case AV_SAMPLE_FMT_DBL:
            return DType::float64;
        default:
            return std::nullopt;
    }
}

/// Copies `count` elements of 1, 2, 4 or 8 bytes from places `from_step` bytes apart to places `to_step` bytes apart.
void copy_elements(std::size_t element_bytes, const std::byte* from, std::int64_t from_step, std::byte* to,
                   std::int64_t to_step, std::int64_t count);

/// How a chunk stores the frames of a filter graph. A row of a chunk is one picture, or one sample of each
/// channel.
class ChunkLayout {
public:
    /// The layout for frames like this one. Throws Error(unsupported) that names a format without an array. `planar`
    /// separates the channels even if the format interleaves them.
    [[nodiscard]] static ChunkLayout of(const AVFrame& frame, bool planar = false);
    /// The layout for samples of 8-bit frames from tricodec's own decoders; nothing for other frames. A Transform
    /// writes them, on any device.
    [[nodiscard]] static std::optional<ChunkLayout> of_samples(const Frame& frame);

    /// Rows of a frame: 1, or its number of samples.
    [[nodiscard]] static std::int64_t num_rows(const AVFrame& frame) noexcept {
        return frame.nb_samples > 0 ? frame.nb_samples : 1;
    }
    [[nodiscard]] std::int64_t row_bytes() const noexcept;
    /// Uninitialized memory for `num_rows`, in the shape that users see: [rows, channels, height, width] or [rows,
    /// channels].
    [[nodiscard]] Tensor allocate(std::int64_t num_rows, Device device = {}, StreamView stream = {}) const;
    /// Copies rows [from, from + count) of a frame of this layout to rows [at, ...) of a tensor that allocate() made.
    void write(const AVFrame& frame, std::int64_t from, std::int64_t count, const Tensor& to, std::int64_t at) const;

    friend bool operator==(const ChunkLayout&, const ChunkLayout&) = default;

private:
    /// The place of the samples of one channel.
    struct Component {
        int plane = 0;
        int offset_bytes = 0;
        int step_bytes = 0;
        int shift_x = 0;  ///< log2 of how many columns share a sample
        int shift_y = 0;
        friend bool operator==(const Component&, const Component&) = default;
    };

    void write_picture(const AVFrame& frame, std::byte* to) const;
    void write_samples(const AVFrame& frame, std::int64_t from, std::int64_t count, std::byte* to) const;

    int format_ = -1;
    DType dtype_ = DType::uint8;
    bool video_ = false;
    /// Video: the channels of a pixel are adjacent. Audio: the channels of a sample are adjacent.
    bool interleaved_ = false;
    int channels_ = 0;
    int height_ = 0;
    int width_ = 0;
    std::vector<Component> components_;  // video that is not interleaved
};

}  // namespace tricodec::streams
