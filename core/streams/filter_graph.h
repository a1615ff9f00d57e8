// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "streams/filter_library.h"
#include "tricodec/fork.h"

namespace tricodec::streams {

/// What goes into a filter graph.
struct GraphInput {
    bool video = false;
    int format = -1;  ///< AVPixelFormat or AVSampleFormat
    AVRational time_base{0, 1};
    int width = 0;
    int height = 0;
    AVRational frame_rate{0, 1};
    AVRational sample_aspect_ratio{0, 1};
    AVColorSpace color_space = AVCOL_SPC_UNSPECIFIED;
    AVColorRange color_range = AVCOL_RANGE_UNSPECIFIED;
    int sample_rate = 0;
    int num_channels = 0;
    std::uint64_t channel_mask = 0;    ///< 0 where the channels have no places
    AVBufferRef* hw_frames = nullptr;  ///< borrowed; null in host memory

    [[nodiscard]] static GraphInput of(const AVFrame& frame, AVRational time_base, AVRational frame_rate);
    friend bool operator==(const GraphInput& a, const GraphInput& b) noexcept;
};

/// A simple graph of libavfilter: one input, one output, as `ffmpeg -vf` and `-af` take it. Where no filter remembers
/// frames it has threads, and is made again in a forked child; else it has none, and goes on there. Note [Fork],
/// base/fork.h.
class FilterGraph {
public:
    /// `description` empty passes frames on. Throws Error(invalid_argument) with libavfilter's words.
    FilterGraph(const GraphInput& input, const std::string& description);

    [[nodiscard]] const GraphInput& input() const noexcept { return input_; }
    /// The frame stays the caller's, its pixels shared.
    void push(AVFrame* frame);
    /// Ends the input at a time (in the input's time base): without it, fps takes the last frame to last no time.
    void end(std::int64_t pts);
    /// The next frame, or null until more is pushed.
    [[nodiscard]] ff::FramePtr pull();
    /// Of the output: format, size, rates.
    [[nodiscard]] GraphInput output() const noexcept;
    /// Exactly this many samples a frame from now on (but the last), as encoders want them.
    void set_frame_size(int samples) noexcept;

private:
    struct FreeGraph {
        ForkMark mark;
        void operator()(AVFilterGraph* graph) const noexcept;
    };
    using GraphPtr = std::unique_ptr<AVFilterGraph, FreeGraph>;

    void make();
    void add_ends();
    void parse();
    void make_again_in_child();

    GraphInput input_;
    std::string description_;
    bool has_threads_;
    ForkMark mark_;
    GraphPtr graph_;
    AVFilterContext* source_ = nullptr;
    AVFilterContext* sink_ = nullptr;
    ff::FramePtr spare_;
};

}  // namespace tricodec::streams
