// SPDX-License-Identifier: Apache-2.0
#include "streams/chunk_buffer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tricodec/base/log.h"

namespace tricodec::streams {
namespace {

/// Larger chunks are allocated when they are popped, because callers ask for "a million frames" to get all.
constexpr std::int64_t kAllocatedAhead = std::int64_t{512} << 20;

void expect_count(std::int64_t value, const char* name) {
    TRICODEC_EXPECT(value > 0 || value == -1, invalid_argument,
                    std::string(name) + " must be positive or -1, not " + std::to_string(value));
}

/// Copies samples unchanged. Chroma is repeated, because the nearest sample is taken.
TransformOptions as_they_are() {
    TransformOptions options;
    options.resize = Resize::nearest;
    options.color = OutputColor::yuv;
    options.layout = Layout::chw;
    options.rotate = false;
    return options;
}

}  // namespace

ChunkBuffer::ChunkBuffer(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size, Device device)
    : frames_per_chunk_(frames_per_chunk),
      buffer_chunk_size_(buffer_chunk_size),
      device_(device),
      samples_(as_they_are()) {
    expect_count(frames_per_chunk, "frames_per_chunk");
    expect_count(buffer_chunk_size, "buffer_chunk_size");
    if (device.kind == Device::Kind::cuda) stream_ = CudaStream::make_new(device.index);
}

std::int64_t ChunkBuffer::room(const Chunk& chunk, const ChunkLayout& layout) const noexcept {
    if (chunk.layout != layout) return 0;
    if (frames_per_chunk_ < 0) return std::numeric_limits<std::int64_t>::max();
    return frames_per_chunk_ - chunk.num_rows;
}

/// The chunk for the next rows, in the memory of `device`.
ChunkBuffer::Chunk& ChunkBuffer::open(const ChunkLayout& layout, double seconds, Device device) {
    if (!chunks_.empty() && room(chunks_.back(), layout) > 0) return chunks_.back();
    Chunk fresh;
    fresh.layout = layout;
    fresh.seconds = seconds;
    if (frames_per_chunk_ > 0 && frames_per_chunk_ <= kAllocatedAhead / layout.row_bytes()) {
        fresh.tensor = layout.allocate(frames_per_chunk_, device, stream());
    }
    chunks_.push_back(std::move(fresh));
    return chunks_.back();
}

void ChunkBuffer::write(const Part& part, const Chunk& chunk, std::int64_t at) {
    if (!part.samples) {
        chunk.layout.write(*part.frame, part.from, part.count, *chunk.tensor, at);
        return;
    }
    samples_(*part.samples, chunk.tensor->view[at], stream());
    if (chunk.tensor->buffer) chunk.tensor->buffer->written_on(stream());
}

void ChunkBuffer::push(ff::FramePtr frame, const RowTimes& times) {
    const auto layout = ChunkLayout::of(*frame, device_.kind == Device::Kind::cuda);
    const auto num_rows = ChunkLayout::num_rows(*frame);
    for (std::int64_t from = 0; from < num_rows;) {
        auto& chunk = open(layout, times.seconds(from), {});
        Part part{nullptr, std::nullopt, from, std::min(num_rows - from, room(chunk, layout))};
        part.frame.reset(av_frame_clone(frame.get()));
        TRICODEC_EXPECT(part.frame != nullptr, out_of_memory, "could not keep a frame");
        const auto count = part.count;
        if (chunk.tensor) {
            write(part, chunk, chunk.num_rows);
        } else {
            chunk.parts.push_back(std::move(part));
        }
        chunk.num_rows += count;
        from += count;
        evict();
    }
}

void ChunkBuffer::push(const Frame& frame, const ChunkLayout& layout, const RowTimes& times) {
    auto& chunk = open(layout, times.seconds(0), device_);
    Part part{nullptr, frame, 0, 1};
    if (chunk.tensor) {
        write(part, chunk, chunk.num_rows);
    } else {
        chunk.parts.push_back(std::move(part));
    }
    ++chunk.num_rows;
    evict();
}

void ChunkBuffer::evict() {
    if (frames_per_chunk_ < 0 || buffer_chunk_size_ < 0) return;
    while (chunks_.size() > static_cast<std::size_t>(buffer_chunk_size_)) {
        if (!std::exchange(warned_, true)) {
            log(LogLevel::warning,
                "chunks are dropped: more than buffer_chunk_size = " + std::to_string(buffer_chunk_size_) +
                    " of them wait to be popped, and the newest are kept (-1 keeps all)");
        }
        chunks_.pop_front();
    }
}

bool ChunkBuffer::ready() const noexcept {
    if (chunks_.empty()) return false;
    return frames_per_chunk_ < 0 || chunks_.size() > 1 || chunks_.front().num_rows == frames_per_chunk_;
}

std::optional<StreamChunk> ChunkBuffer::pop() {
    if (chunks_.empty()) return std::nullopt;
    auto& chunk = chunks_.front();
    if (!chunk.tensor) {
        const bool there = chunk.parts.front().samples.has_value();
        chunk.tensor = chunk.layout.allocate(chunk.num_rows, there ? device_ : Device{}, stream());
        std::int64_t at = 0;
        for (auto& part : chunk.parts) {
            write(part, chunk, at);
            at += part.count;
            part.frame.reset();  // the next part can reuse its memory
            part.samples.reset();
        }
    }
    StreamChunk result{std::move(*chunk.tensor), chunk.seconds};
    result.data.view.shape[0] = chunk.num_rows;
    chunks_.pop_front();
    if (result.data.view.device != device_) result.data = on_device(std::move(result.data));
    return result;
}

/// Copies a chunk that filters made in host memory to the device.
Tensor ChunkBuffer::on_device(Tensor host) const {
    Tensor copy = Tensor::empty(host.view.shape, host.view.dtype, device_, stream());
    const auto size_bytes = static_cast<std::size_t>(host.view.num_elements()) * size_of(host.view.dtype);
    copy_bytes(copy.view.data, device_, host.view.data, host.view.device, size_bytes, stream(), true);
    copy.buffer->written_on(stream());
    return copy;
}

void ChunkBuffer::clear() {
    chunks_.clear();
}

}  // namespace tricodec::streams
