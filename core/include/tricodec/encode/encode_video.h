// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tricodec/audio/audio_encoder.h"
#include "tricodec/container/muxer.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// How an array holds pictures: as a Transform's uint8 output of layout hwc or chw, or as raw planes.
struct PictureLayout {
    OutputColor color = OutputColor::rgb;
    Layout layout = Layout::hwc;
    /// Instead of the two: planes one after another without padding, as pack() writes them, in the shapes of
    /// read_raw_shape().
    std::optional<PixelFormat> format;
};

/// The pictures of a video in one array: [F, ...], or the shape of one picture.
/// Thread safety: const and safe from any number of threads.
class PictureArray {
public:
    /// `pixels` is C-contiguous, on the CPU or on a GPU (its buffer then says when it is written). Throws
    /// Error(invalid_argument) for shapes and types that do not fit the layout, saying which do.
    PictureArray(Tensor pixels, const PictureLayout& layout);

    [[nodiscard]] std::int64_t size() const noexcept { return num_frames_; }
    [[nodiscard]] int width() const noexcept { return width_; }
    [[nodiscard]] int height() const noexcept { return height_; }
    [[nodiscard]] const PictureLayout& layout() const noexcept { return layout_; }
    /// One picture: over the array's memory, or, for pixels of YUV, a copy on the CPU.
    [[nodiscard]] Frame operator[](std::int64_t index) const;

private:
    void read_shape();
    [[nodiscard]] Frame frame_here(std::byte* data) const;
    [[nodiscard]] Frame separated(const std::byte* data) const;

    Tensor pixels_;
    PictureLayout layout_;
    std::int64_t num_frames_ = 0;
    std::int64_t frame_bytes_ = 0;
    int width_ = 0;
    int height_ = 0;
};

/// Sound of a video: [channels, samples] or [samples], float32 (-1 to 1) or int16, in host memory.
struct SoundTrack {
    Tensor samples;
    int sample_rate = 0;
    AudioEncoding encoding;
};

/// The encoder, the container and the form of the pictures of `encode_video`.
struct EncodeVideoOptions {
    /// Size and headers follow from the pictures and the container. A format that is unknown is yuv420p, of raw planes
    /// and for lossless codecs the nearest to the pictures' own that the encoder takes; a frame rate that is unknown is
    /// that of the times, or 30.
    EncoderOptions encoder{.format = PixelFormat::unknown, .frame_rate = {}};
    /// "mp4" where no format is named; "raw" is the bare stream of the codec.
    MuxerOptions muxer;
    /// Its first sample is heard at time 0, with the first picture.
    std::optional<SoundTrack> sound;
};

/// Pictures to a whole file in memory: what Encoder and Muxer make, one picture after another. `pts_seconds` are their
/// times, of which the first becomes 0, in 1/90000 s; without them pictures follow one another by the frame rate.
/// Throws Error(invalid_argument) if there is no picture, or the times are not increasing with one for each picture,
/// and what Encoder and Muxer throw.
[[nodiscard]] std::shared_ptr<std::vector<std::byte>> encode_video(const PictureArray& pictures,
                                                                   std::span<const double> pts_seconds,
                                                                   const EncodeVideoOptions& options = {});

}  // namespace tricodec
