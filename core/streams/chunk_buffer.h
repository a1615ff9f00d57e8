// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "streams/chunk_layout.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/image/transform.h"
#include "tricodec/streams/stream_reader.h"

namespace tricodec::streams {

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
