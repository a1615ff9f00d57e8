// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "tricodec/tensor/dtype.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::streams {

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
