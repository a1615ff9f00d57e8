// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>  // before FFmpeg's headers, which want its macros

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

#include <memory>
#include <string>
#include <vector>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/fork.h"

namespace tricodec {

#define TRICODEC_EACH_FILTER_FUNCTION(X)     \
    X(avfilter_version)                      \
    X(avfilter_get_by_name)                  \
    X(avfilter_init_str)                     \
    X(avfilter_graph_alloc)                  \
    X(avfilter_graph_alloc_filter)           \
    X(avfilter_graph_config)                 \
    X(avfilter_graph_create_filter)          \
    X(avfilter_graph_free)                   \
    X(avfilter_graph_parse_ptr)              \
    X(avfilter_inout_alloc)                  \
    X(avfilter_inout_free)                   \
    X(av_buffersrc_add_frame_flags)          \
    X(av_buffersrc_close)                    \
    X(av_buffersrc_parameters_alloc)         \
    X(av_buffersrc_parameters_set)           \
    X(av_buffersink_get_ch_layout)           \
    X(av_buffersink_get_channels)            \
    X(av_buffersink_get_format)              \
    X(av_buffersink_get_frame)               \
    X(av_buffersink_get_frame_rate)          \
    X(av_buffersink_get_h)                   \
    X(av_buffersink_get_hw_frames_ctx)       \
    X(av_buffersink_get_sample_aspect_ratio) \
    X(av_buffersink_get_sample_rate)         \
    X(av_buffersink_get_time_base)           \
    X(av_buffersink_get_w)                   \
    X(av_buffersink_set_frame_size)

/// The functions of libavfilter, with the library's own names and types. The first stream opens the library: it loads
/// speech synthesis, fonts and shader compilers, which take 11 MB in every process, also in one that only decodes
/// frames.
struct FilterLibrary {
#define TRICODEC_FILTER_FUNCTION(name) decltype(&::name) name = nullptr;
    TRICODEC_EACH_FILTER_FUNCTION(TRICODEC_FILTER_FUNCTION)
#undef TRICODEC_FILTER_FUNCTION
};

/// The library, in the version of the build. Throws Error(unsupported) if it is not installed.
[[nodiscard]] const FilterLibrary& filters();
/// The same; null if it is not installed.
[[nodiscard]] const FilterLibrary* find_filters();

/// The frames that enter a filter graph.
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
    std::uint64_t channel_mask = 0;    ///< 0 if the channels have no positions
    AVBufferRef* hw_frames = nullptr;  ///< borrowed; null in host memory

    [[nodiscard]] static GraphInput of(const AVFrame& frame, AVRational time_base, AVRational frame_rate);
    friend bool operator==(const GraphInput& a, const GraphInput& b) noexcept;
};

/// A simple graph of libavfilter with one input and one output, as in `ffmpeg -vf` and `-af`. If no filter remembers
/// frames, the graph has threads, and a forked child makes it again. Otherwise it has no threads and continues in the
/// child. Note [Fork], base/fork.h.
class FilterGraph {
public:
    /// An empty `description` changes nothing. Throws Error(invalid_argument) with libavfilter's message.
    FilterGraph(const GraphInput& input, const std::string& description);

    [[nodiscard]] const GraphInput& input() const noexcept { return input_; }
    /// The caller keeps the frame; the graph shares its pixels.
    void push(AVFrame* frame);
    /// Ends the input at a time (in its time base). The filter fps needs it to know how long the last frame lasts.
    void end(std::int64_t pts);
    /// The next frame, or null until more is pushed.
    [[nodiscard]] ff::FramePtr pull();
    /// Format, size and rates of the output.
    [[nodiscard]] GraphInput output() const noexcept;
    /// From now on each frame but the last has exactly this many samples, as encoders need it.
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

}  // namespace tricodec
