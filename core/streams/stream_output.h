// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "media/filter_graph.h"
#include "streams/chunk_buffer.h"
#include "tricodec/streams/stream_reader.h"

namespace tricodec::streams {

/// One output of a reader: its filters, and the chunks that wait for pop_chunks().
class StreamOutput {
public:
    StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index);

    /// Null ends the stream.
    void push(AVFrame* frame);
    /// Takes a frame of tricodec's own decoder. If no filter changes it, its samples are copied on its device. Filters
    /// run in host memory, and their results are copied to the device of the chunks.
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
    bool engine_;                         // frames come from tricodec's own decoder
    std::unique_ptr<FilterGraph> graph_;  // null until the first frame of tricodec's own decoder
    ChunkBuffer chunks_;
    std::int64_t stamped_pts_ = 0;  // of the last frame with a time stamp
    std::int64_t rows_since_ = 0;   // number of rows since that frame, included
    std::int64_t end_pts_ = AV_NOPTS_VALUE;
};

}  // namespace tricodec::streams
