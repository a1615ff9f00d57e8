// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "streams/chunk_buffer.h"
#include "streams/filter_graph.h"
#include "tricodec/stream_reader.h"

namespace tricodec::streams {

/// One output of a reader: filters, and the chunks that wait to be popped.
class StreamOutput {
public:
    StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index);

    /// Null ends the stream.
    void push(AVFrame* frame);
    /// Of an engine of tricodec's. Where no filter changes it, its samples go into the chunk as they are, on its
    /// device; filters are in host memory, and what they give goes to the device of the chunks.
    void push(const Frame& frame);
    /// After a seek.
    void reset();
    [[nodiscard]] ChunkBuffer& chunks() noexcept { return chunks_; }
    [[nodiscard]] OutputStream describe() const;
    [[nodiscard]] int source_index() const noexcept { return source_index_; }

private:
    void make_graph(const GraphInput& input);
    void drain();
    [[nodiscard]] RowTimes times(const GraphInput& frames, std::int64_t pts, std::int64_t num_rows);

    std::string description_;
    int source_index_;
    GraphInput input_;
    bool engine_;                         // frames come from an engine of tricodec's
    std::unique_ptr<FilterGraph> graph_;  // null until the first frame of an engine, whose format it must know
    ChunkBuffer chunks_;
    std::int64_t stamped_pts_ = 0;  // of the last frame that had a time stamp,
    std::int64_t rows_since_ = 0;   // and how many rows have begun since, it included
    std::int64_t end_pts_ = AV_NOPTS_VALUE;
};

}  // namespace tricodec::streams
