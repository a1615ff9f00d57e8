// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "tricodec/dtype.h"
#include "tricodec/frame.h"
#include "tricodec/tensor.h"

namespace tricodec::streams {

/// The element type of samples of a format, interleaved or planar; nothing for formats that no array has.
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

/// How the frames that a filter graph gives lie in a chunk. A row of a chunk is one picture, or one sample of each
/// channel.
class ChunkLayout {
public:
    /// Of frames like this one. Throws Error(unsupported) naming a format that has no array. `planar` keeps channels
    /// apart also where the format has them side by side.
    [[nodiscard]] static ChunkLayout of(const AVFrame& frame, bool planar = false);
    /// Of the samples of frames of 8 bits that tricodec's own engines decode; null for other frames. They are written
    /// by a Transform, wherever they are.
    [[nodiscard]] static std::optional<ChunkLayout> of_samples(const Frame& frame);

    /// Rows of a frame: 1, or its number of samples.
    [[nodiscard]] static std::int64_t num_rows(const AVFrame& frame) noexcept {
        return frame.nb_samples > 0 ? frame.nb_samples : 1;
    }
    [[nodiscard]] std::int64_t row_bytes() const noexcept;
    /// Uninitialised memory of `num_rows`, as users see it: [rows, channels, height, width] or [rows, channels].
    [[nodiscard]] Tensor allocate(std::int64_t num_rows, Device device = {}, StreamView stream = {}) const;
    /// Copies rows [from, from + count) of a frame of this layout to rows [at, ...) of a tensor that allocate() made.
    void write(const AVFrame& frame, std::int64_t from, std::int64_t count, const Tensor& to, std::int64_t at) const;

    friend bool operator==(const ChunkLayout&, const ChunkLayout&) = default;

private:
    /// Where the samples of one channel are.
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
    /// Video: the bytes of a pixel lie side by side. Audio: one channel after another.
    bool interleaved_ = false;
    int channels_ = 0;
    int height_ = 0;
    int width_ = 0;
    std::vector<Component> components_;  // video that is not interleaved
};

}  // namespace tricodec::streams
