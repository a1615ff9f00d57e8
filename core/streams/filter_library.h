// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>  // before FFmpeg's headers, which want its macros

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

namespace tricodec::streams {

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

/// The functions of libavfilter, which is opened when the first stream needs one: it brings speech synthesis, fonts and
/// shader compilers, 11 MB of memory in a process that may only want frames. Their names and types are the library's
/// own.
struct FilterLibrary {
#define TRICODEC_FILTER_FUNCTION(name) decltype(&::name) name = nullptr;
    TRICODEC_EACH_FILTER_FUNCTION(TRICODEC_FILTER_FUNCTION)
#undef TRICODEC_FILTER_FUNCTION
};

/// The library of the version that this one was built with. Throws Error(unsupported) where it is not installed.
[[nodiscard]] const FilterLibrary& filters();
/// The same; null where it is not installed.
[[nodiscard]] const FilterLibrary* find_filters();

}  // namespace tricodec::streams
