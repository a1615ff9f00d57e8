// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/image/transform.h"
#include "tricodec/streams/stream_reader.h"
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

/// When the rows of a frame begin. A row is a picture, or a sample of each channel.
struct RowTimes {
    std::int64_t pts = 0;  ///< of the first row, in units of `time_base`
    AVRational time_base{1, 1};
    AVRational row{0, 1};  ///< duration of each row, in seconds

    /// Time of a row. It multiplies before it divides, so that 144 / 1000 is 0.144 to the last bit, as in torchaudio.
    [[nodiscard]] double seconds(std::int64_t number) const noexcept {
        const auto at = static_cast<double>(pts + av_rescale_q(number, row, time_base));
        return at * time_base.num / time_base.den;
    }
};

/// Cuts frames into chunks. Each frame is copied once, straight into its chunk: at once if the size of the chunk is
/// known. Otherwise the frame is kept, and copied when the chunk is popped.
class ChunkBuffer {
public:
    /// Chunks are in the memory of `device`. Throws Error(invalid_argument) unless each count is positive or -1.
    ChunkBuffer(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size, Device device = {});

    /// A frame, or a run of samples.
    void push(ff::FramePtr frame, const RowTimes& times);
    /// The samples of a frame on the chunks' device, or in host memory, with chroma repeated to full size. `layout` is
    /// ChunkLayout::of_samples() of it.
    void push(const Frame& frame, const ChunkLayout& layout, const RowTimes& times);
    [[nodiscard]] bool ready() const noexcept;
    [[nodiscard]] std::optional<StreamChunk> pop();
    void clear();

private:
    struct Part {
        ff::FramePtr frame;  // a frame of libavcodec, or
        std::optional<Frame> samples;
        std::int64_t from = 0;
        std::int64_t count = 0;
    };
    struct Chunk {
        ChunkLayout layout;
        double seconds = 0;
        std::int64_t num_rows = 0;
        std::optional<Tensor> tensor;  // room for frames_per_chunk rows
        std::vector<Part> parts;       // frames that wait for a tensor
    };

    [[nodiscard]] std::int64_t room(const Chunk& chunk, const ChunkLayout& layout) const noexcept;
    Chunk& open(const ChunkLayout& layout, double seconds, Device device);
    void write(const Part& part, const Chunk& chunk, std::int64_t at);
    [[nodiscard]] Tensor on_device(Tensor host) const;
    [[nodiscard]] StreamView stream() const noexcept { return stream_ ? stream_->view() : StreamView{}; }
    void evict();

    std::int64_t frames_per_chunk_;
    std::int64_t buffer_chunk_size_;
    Device device_;
    std::shared_ptr<CudaStream> stream_;  // for chunks on a GPU
    Transform samples_;                   // copies frames, unchanged
    std::deque<Chunk> chunks_;            // all but the last are full, or end where the frames' layout changed
    bool warned_ = false;
};

}  // namespace tricodec::streams
