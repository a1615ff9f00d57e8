// SPDX-License-Identifier: Apache-2.0
#include "io/chunk_buffer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tricodec/log.h"

namespace tricodec::io {
namespace {

/// Larger chunks are allocated when they are popped: "a million frames" is a way to say "all".
constexpr std::int64_t kAllocatedAhead = std::int64_t{512} << 20;

void expect_count(std::int64_t value, const char* name) {
    TRICODEC_EXPECT(value > 0 || value == -1, invalid_argument,
                    std::string(name) + " must be positive or -1, not " + std::to_string(value));
}

}  // namespace

ChunkBuffer::ChunkBuffer(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size)
    : frames_per_chunk_(frames_per_chunk), buffer_chunk_size_(buffer_chunk_size) {
    expect_count(frames_per_chunk, "frames_per_chunk");
    expect_count(buffer_chunk_size, "buffer_chunk_size");
}

std::int64_t ChunkBuffer::room(const Chunk& chunk, const ChunkLayout& layout) const noexcept {
    if (chunk.layout != layout) return 0;
    if (frames_per_chunk_ < 0) return std::numeric_limits<std::int64_t>::max();
    return frames_per_chunk_ - chunk.num_rows;
}

void ChunkBuffer::push(ff::FramePtr frame, double seconds, double row_seconds) {
    const auto layout = ChunkLayout::of(*frame);
    const auto num_rows = ChunkLayout::num_rows(*frame);
    for (std::int64_t from = 0; from < num_rows;) {
        if (chunks_.empty() || room(chunks_.back(), layout) == 0) {
            Chunk fresh;
            fresh.layout = layout;
            fresh.seconds = seconds + static_cast<double>(from) * row_seconds;
            if (frames_per_chunk_ > 0 && frames_per_chunk_ <= kAllocatedAhead / layout.row_bytes()) {
                fresh.tensor = layout.allocate(frames_per_chunk_);
            }
            chunks_.push_back(std::move(fresh));
        }
        auto& chunk = chunks_.back();
        const auto count = std::min(num_rows - from, room(chunk, layout));
        if (chunk.tensor) {
            layout.write(*frame, from, count, *chunk.tensor, chunk.num_rows);
        } else {
            ff::FramePtr shared(av_frame_clone(frame.get()));
            TRICODEC_EXPECT(shared != nullptr, out_of_memory, "could not keep a frame");
            chunk.parts.push_back({std::move(shared), from, count});
        }
        chunk.num_rows += count;
        from += count;
        evict();
    }
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
        chunk.tensor = chunk.layout.allocate(chunk.num_rows);
        std::int64_t at = 0;
        for (auto& part : chunk.parts) {
            chunk.layout.write(*part.frame, part.from, part.count, *chunk.tensor, at);
            at += part.count;
            part.frame.reset();  // its memory may be what the next one's pages come from
        }
    }
    StreamChunk result{std::move(*chunk.tensor), chunk.seconds};
    result.data.view.shape[0] = chunk.num_rows;
    chunks_.pop_front();
    return result;
}

void ChunkBuffer::clear() {
    chunks_.clear();
}

}  // namespace tricodec::io
