// SPDX-License-Identifier: Apache-2.0
#include "streams/source_decoder.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <string_view>

#include "base/stage_scope.h"
#include "ffmpeg/conversions.h"
#include "streams/gpu_surfaces.h"

namespace tricodec::streams {
namespace {

/// True if a filter description does not change the samples of frames of `format`. nv12 and yuv420p have the same
/// samples in another order.
bool changes_nothing(std::string_view description, PixelFormat format) {
    if (description.empty() || description == "null") return true;
    constexpr std::string_view kFormat = "format=pix_fmts=";
    if (!description.starts_with(kFormat)) return false;
    const auto half = [](std::string_view name) { return name == "nv12" || name == "yuv420p"; };
    const auto wanted = description.substr(kFormat.size());
    return wanted == to_string(format) || (half(wanted) && half(to_string(format)));
}

}  // namespace

StreamOutput::StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index)
    : description_(options.filter_description),
      source_index_(source_index),
      input_(input),
      engine_(!options.hw_accel.empty()),
      chunks_(options.frames_per_chunk, options.buffer_chunk_size, device_of(options.hw_accel)) {
    if (!engine_) make_graph(input);
}

void StreamOutput::make_graph(const GraphInput& input) {
    graph_.reset();
    graph_ = std::make_unique<FilterGraph>(input, description_);
    input_ = input;
}

void StreamOutput::push(AVFrame* frame) {
    const StageScope scope(Stage::filter, frame == nullptr ? 0 : 1);
    if (frame == nullptr) {
        if (graph_ == nullptr) return;
        graph_->end(end_pts_);
        drain();
        return;
    }
    const auto input = GraphInput::of(*frame, input_.time_base, input_.frame_rate);
    if (graph_ == nullptr || !(input == graph_->input())) {
        if (graph_ != nullptr) {  // the size or format changes: drain the filters first
            graph_->end(end_pts_);
            drain();
        }
        make_graph(input);
    }
    graph_->push(frame);
    if (frame->pts != AV_NOPTS_VALUE) end_pts_ = frame->pts + ff::duration(*frame);
    drain();
}

void StreamOutput::push(const Frame& frame) {
    const auto layout = changes_nothing(description_, frame.format) ? ChunkLayout::of_samples(frame) : std::nullopt;
    if (layout) {
        const StageScope scope(Stage::filter, 1);
        chunks_.push(frame, *layout, times(input_, frame.pts, 1));
        return;
    }
    const Frame host = to_host(frame);
    const auto picture = to_av_picture(host);
    picture->pts = frame.pts;
    ff::set_duration(*picture, frame.duration);
    picture->colorspace = static_cast<AVColorSpace>(frame.color.matrix);
    picture->color_range = ff::to_av(frame.color.range);
    push(picture.get());
}

void StreamOutput::drain() {
    const auto output = graph_->output();
    while (auto frame = graph_->pull()) {
        const auto when = times(output, frame->pts, ChunkLayout::num_rows(*frame));
        chunks_.push(std::move(frame), when);
    }
}

/// Times of a frame with `num_rows`. Frames without a time stamp follow the last one that has one, row by row.
RowTimes StreamOutput::times(const GraphInput& frames, std::int64_t pts, std::int64_t num_rows) {
    RowTimes result;
    result.time_base = frames.time_base;
    if (!frames.video) {
        result.row = {1, frames.sample_rate};
    } else if (frames.frame_rate.num > 0) {
        result.row = av_inv_q(frames.frame_rate);
    }
    if (pts != AV_NOPTS_VALUE) {
        stamped_pts_ = pts;
        rows_since_ = 0;
    }
    result.pts = stamped_pts_ + av_rescale_q(rows_since_, result.row, result.time_base);
    rows_since_ += num_rows;
    return result;
}

void StreamOutput::reset() {
    chunks_.clear();
    stamped_pts_ = rows_since_ = 0;
    end_pts_ = AV_NOPTS_VALUE;
    if (graph_ != nullptr && !engine_) {
        make_graph(input_);
    } else {
        graph_.reset();
    }
}

OutputStream StreamOutput::describe() const {
    const auto output = graph_ != nullptr ? graph_->output() : input_;
    OutputStream result;
    result.source_index = source_index_;
    result.filter_description = description_;
    result.media_type = output.video ? "video" : "audio";
    const char* name = output.video ? av_get_pix_fmt_name(static_cast<AVPixelFormat>(output.format))
                                    : av_get_sample_fmt_name(static_cast<AVSampleFormat>(output.format));
    result.format = name == nullptr ? "unknown" : name;
    result.width = output.width;
    result.height = output.height;
    result.frame_rate = output.frame_rate.den == 0 ? 0 : av_q2d(output.frame_rate);
    result.sample_rate = output.sample_rate;
    result.num_channels = output.num_channels;
    return result;
}

}  // namespace tricodec::streams
