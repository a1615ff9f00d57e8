// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/filter_graph.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
}

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

struct Opened {
    FilterLibrary functions;
    std::string reason =
        open_ffmpeg_library("libavfilter", LIBAVFILTER_VERSION_MAJOR, ", which streams and deinterlacing need,",
                            [this](SharedLibrary& library) { find(library); });

    void find(SharedLibrary& library) {
#define TRICODEC_FIND(name) library.find(functions.name, #name);
        TRICODEC_EACH_FILTER_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
    }
};

const Opened& opened() {
    static NeverDestroyed<Opened> library;
    return *library;
}

std::uint64_t mask_of(const AVChannelLayout& layout) noexcept {
    return layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0;
}

/// True if no filter of a description delays or remembers frames. An unknown filter may do both.
bool is_stateless(std::string_view description) {
    constexpr std::array<std::string_view, 9> kStateless{"null",  "format", "scale",  "crop",     "pad",
                                                         "hflip", "vflip",  "setsar", "transpose"};
    while (!description.empty()) {
        const auto filter = description.substr(0, description.find(','));
        const auto name = filter.substr(0, filter.find('='));
        if (std::ranges::find(kStateless, name) == kStateless.end()) return false;
        description.remove_prefix(std::min(filter.size() + 1, description.size()));
    }
    return true;
}

/// Since FFmpeg 7, filters negotiate colors before the first frame, and the frame must have them.
constexpr bool kLinksHaveColors = LIBAVFILTER_VERSION_INT >= AV_VERSION_INT(10, 0, 100);

}  // namespace

const FilterLibrary& filters() {
    TRICODEC_EXPECT(opened().reason.empty(), unsupported, opened().reason);
    return opened().functions;
}

const FilterLibrary* find_filters() {
    return opened().reason.empty() ? &opened().functions : nullptr;
}

GraphInput GraphInput::of(const AVFrame& frame, AVRational time_base, AVRational frame_rate) {
    GraphInput input;
    input.video = frame.nb_samples == 0;
    input.format = frame.format;
    input.time_base = time_base;
    input.frame_rate = frame_rate;
    input.hw_frames = frame.hw_frames_ctx;
    if (input.video) {
        input.width = frame.width;
        input.height = frame.height;
        input.sample_aspect_ratio = frame.sample_aspect_ratio;
        input.color_space = frame.colorspace;
        input.color_range = frame.color_range;
    } else {
        input.sample_rate = frame.sample_rate;
        input.num_channels = frame.ch_layout.nb_channels;
        input.channel_mask = mask_of(frame.ch_layout);
    }
    return input;
}

/// Rates and aspect ratio may change without a new graph. So may colors, if frames carry them to the filters.
bool operator==(const GraphInput& a, const GraphInput& b) noexcept {
    const bool same_colors = !kLinksHaveColors || (a.color_space == b.color_space && a.color_range == b.color_range);
    return same_colors && a.video == b.video && a.format == b.format && a.width == b.width && a.height == b.height &&
           a.sample_rate == b.sample_rate && a.num_channels == b.num_channels && a.channel_mask == b.channel_mask &&
           (a.hw_frames == nullptr) == (b.hw_frames == nullptr);
}

FilterGraph::FilterGraph(const GraphInput& input, const std::string& description)
    : input_(input),
      description_(description.empty() ? (input.video ? "null" : "anull") : description),
      has_threads_(is_stateless(description)),
      spare_(ff::make_frame()) {
    make();
}

void FilterGraph::make() {
    graph_ = GraphPtr(filters().avfilter_graph_alloc());
    TRICODEC_EXPECT(graph_ != nullptr, out_of_memory, "could not allocate a filter graph");
    if (!has_threads_) graph_->nb_threads = 1;
    const ff::CallLog call_log;
    add_ends();
    parse();
    const int code = filters().avfilter_graph_config(graph_.get(), nullptr);
    if (code < 0) {
        fail(ErrorCode::invalid_argument,
             "the filters '" + description_ + "' do not work together: " + ff::error_text(code));
    }
}

void FilterGraph::make_again_in_child() {
    if (!has_threads_ || !mark_.in_child()) return;
    make();
    mark_ = {};
}

void FilterGraph::add_ends() {
    const auto* source = filters().avfilter_get_by_name(input_.video ? "buffer" : "abuffer");
    const auto* sink = filters().avfilter_get_by_name(input_.video ? "buffersink" : "abuffersink");
    source_ = filters().avfilter_graph_alloc_filter(graph_.get(), source, "in");
    TRICODEC_EXPECT(source_ != nullptr, out_of_memory, "could not allocate a filter");
    const std::unique_ptr<AVBufferSrcParameters, decltype(&av_free)> parameters(
        filters().av_buffersrc_parameters_alloc(), av_free);
    TRICODEC_EXPECT(parameters != nullptr, out_of_memory, "could not allocate a filter");
    parameters->format = input_.format;
    parameters->time_base = input_.time_base;
    if (input_.video) {
        parameters->width = input_.width;
        parameters->height = input_.height;
        parameters->frame_rate = input_.frame_rate;
        parameters->sample_aspect_ratio = input_.sample_aspect_ratio;
        parameters->hw_frames_ctx = input_.hw_frames;
#if LIBAVFILTER_VERSION_INT >= AV_VERSION_INT(10, 0, 100)  // FFmpeg 7
        parameters->color_space = input_.color_space;
        parameters->color_range = input_.color_range;
#endif
    } else {
        parameters->sample_rate = input_.sample_rate;
        if (input_.channel_mask != 0) {
            ff::check(av_channel_layout_from_mask(&parameters->ch_layout, input_.channel_mask), "channel layout");
        } else {
            av_channel_layout_default(&parameters->ch_layout, input_.num_channels);
        }
    }
    ff::check(filters().av_buffersrc_parameters_set(source_, parameters.get()),
              "cannot describe the frames to the filters");
    ff::check(filters().avfilter_init_str(source_, nullptr), "cannot start the filters");
    ff::check(filters().avfilter_graph_create_filter(&sink_, sink, "out", nullptr, nullptr, graph_.get()),
              "cannot end the filters");
}

void FilterGraph::parse() {
    struct Free {
        void operator()(AVFilterInOut* end) const noexcept { filters().avfilter_inout_free(&end); }
    };
    using Ends = std::unique_ptr<AVFilterInOut, Free>;
    const auto end = [](AVFilterContext* filter, const char* name) {
        Ends ends(filters().avfilter_inout_alloc());
        TRICODEC_EXPECT(ends != nullptr, out_of_memory, "could not allocate a filter's end");
        ends->name = av_strdup(name);
        ends->filter_ctx = filter;
        ends->pad_idx = 0;
        ends->next = nullptr;
        return ends;
    };
    // As the graph sees it: its source is an open output, and its sink is an open input.
    AVFilterInOut* outputs = end(source_, "in").release();
    AVFilterInOut* inputs = end(sink_, "out").release();
    const int code = filters().avfilter_graph_parse_ptr(graph_.get(), description_.c_str(), &inputs, &outputs, nullptr);
    const Ends open_inputs(inputs);
    const Ends open_outputs(outputs);
    if (code < 0) {
        fail(ErrorCode::invalid_argument, "cannot parse the filters '" + description_ + "': " + ff::error_text(code));
    }
    TRICODEC_EXPECT(open_inputs == nullptr && open_outputs == nullptr, invalid_argument,
                    "the filters '" + description_ +
                        "' must have one input and one output; complex graphs are not "
                        "supported");
}

void FilterGraph::push(AVFrame* frame) {
    make_again_in_child();
    const ff::CallLog call_log;
    const int code = filters().av_buffersrc_add_frame_flags(source_, frame, AV_BUFFERSRC_FLAG_KEEP_REF);
    if (code == AVERROR_EOF) return;  // a filter such as trim needs no more frames
    ff::check(code, "the filters failed");
}

void FilterGraph::end(std::int64_t pts) {
    make_again_in_child();
    const ff::CallLog call_log;
    const int code = filters().av_buffersrc_close(source_, pts, 0);
    if (code != AVERROR_EOF) ff::check(code, "the filters failed");
}

ff::FramePtr FilterGraph::pull() {
    make_again_in_child();
    const ff::CallLog call_log;
    const int code = filters().av_buffersink_get_frame(sink_, spare_.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return nullptr;
    ff::check(code, "the filters failed");
    return std::exchange(spare_, ff::make_frame());
}

void FilterGraph::FreeGraph::operator()(AVFilterGraph* graph) const noexcept {
    if (!mark.in_child()) filters().avfilter_graph_free(&graph);
}

GraphInput FilterGraph::output() const noexcept {
    const auto& library = filters();
    GraphInput output;
    output.video = input_.video;
    output.format = library.av_buffersink_get_format(sink_);
    output.time_base = library.av_buffersink_get_time_base(sink_);
    if (output.video) {
        output.width = library.av_buffersink_get_w(sink_);
        output.height = library.av_buffersink_get_h(sink_);
        output.frame_rate = library.av_buffersink_get_frame_rate(sink_);
        output.sample_aspect_ratio = library.av_buffersink_get_sample_aspect_ratio(sink_);
        output.hw_frames = library.av_buffersink_get_hw_frames_ctx(sink_);
    } else {
        output.sample_rate = library.av_buffersink_get_sample_rate(sink_);
        output.num_channels = library.av_buffersink_get_channels(sink_);
        AVChannelLayout layout{};
        if (library.av_buffersink_get_ch_layout(sink_, &layout) >= 0) output.channel_mask = mask_of(layout);
        av_channel_layout_uninit(&layout);
    }
    return output;
}

void FilterGraph::set_frame_size(int samples) noexcept {
    filters().av_buffersink_set_frame_size(sink_, static_cast<unsigned>(samples));
}

}  // namespace tricodec
