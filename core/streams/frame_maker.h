// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/ffmpeg.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::streams {

/// Turns rows of a chunk into frames, the reverse of ChunkLayout. A frame reuses the memory of the last one if no
/// encoder holds it any more.
class FrameMaker {
public:
    /// Throws Error(invalid_argument) for a format that has no chunks.
    [[nodiscard]] static FrameMaker video(AVPixelFormat format, int width, int height);
    [[nodiscard]] static FrameMaker audio(AVSampleFormat format, int num_channels, int sample_rate);

    /// Throws Error(invalid_argument) that names the expected and the given shape or type.
    void expect(const TensorView& chunk) const;
    /// A frame of rows [from, from + count) of a chunk that expect() accepted; a picture is one row.
    [[nodiscard]] AVFrame* make(const TensorView& chunk, std::int64_t from, std::int64_t count);
    [[nodiscard]] std::string expected_shape() const;

private:
    void fill_picture(const TensorView& picture);
    void fill_packed(const TensorView& picture);
    void fill_planes(const TensorView& picture);
    void fill_samples(const TensorView& chunk, std::int64_t from, std::int64_t count);

    bool video_ = true;
    int format_ = -1;
    DType dtype_ = DType::uint8;
    int width_ = 0;
    int height_ = 0;
    int channels_ = 0;         ///< of a pixel in memory, or of audio
    int needed_channels_ = 0;  ///< of a chunk: one less if a channel is padding
    bool raw_ = false;         ///< 4:2:0: a chunk has the bytes of whole frames, [n, 1, height * 3 / 2, width]
    std::vector<int> planes_;  ///< of each channel of a planar format
    int sample_rate_ = 0;
    ff::FramePtr frame_;
};

}  // namespace tricodec::streams
