// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "io/chunk_layout.h"
#include "media/ffmpeg.h"
#include "tricodec/cuda_stream.h"
#include "tricodec/stream_reader.h"
#include "tricodec/transform.h"

namespace tricodec::io {

/// Frames on their way to the user, cut into chunks. Each is copied once, straight into its chunk: at once where the
/// chunk's size is known, else, kept until then, when the chunk is popped.
class ChunkBuffer {
public:
    /// Chunks are on `device`. Throws Error(invalid_argument) unless each count is positive or -1.
    ChunkBuffer(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size, Device device = {});

    /// A frame (or run of samples) that begins at `seconds`, each of its rows lasting `row_seconds`.
    void push(ff::FramePtr frame, double seconds, double row_seconds);
    /// The samples of a frame on the chunks' device, or in host memory, with chroma repeated to full size. `layout` is
    /// ChunkLayout::of_samples() of it.
    void push(const Frame& frame, const ChunkLayout& layout, double seconds);
    [[nodiscard]] bool ready() const noexcept;
    [[nodiscard]] std::optional<StreamChunk> pop();
    void clear();

private:
    struct Part {
        ff::FramePtr frame;  // or
        std::optional<Frame> samples;
        std::int64_t from = 0;
        std::int64_t count = 0;
    };
    struct Chunk {
        ChunkLayout layout;
        double seconds = 0;
        std::int64_t num_rows = 0;
        std::optional<Tensor> tensor;  // room for frames_per_chunk rows
        std::vector<Part> parts;       // where there is no tensor yet
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
    std::shared_ptr<CudaStream> stream_;  // of chunks on a GPU
    Transform samples_;                   // of frames, as they are
    std::deque<Chunk> chunks_;            // all but the last are full, or end where the frames' layout changed
    bool warned_ = false;
};

}  // namespace tricodec::io
