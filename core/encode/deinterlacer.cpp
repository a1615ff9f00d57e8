// SPDX-License-Identifier: Apache-2.0
#include "encode/deinterlacer.h"

#include <optional>
#include <utility>

#include "ffmpeg/conversions.h"
#include "ffmpeg/filter_graph.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

/// The same samples in planes, which bwdif takes.
Frame in_planes(const Frame& frame) {
    const auto& from = info(frame.format);
    if (from.num_planes == from.num_components && from.shift == 0) return frame;
    const auto planes = planar_format(from.family, from.log2_chroma_w, from.log2_chroma_h, from.depth);
    return planes == PixelFormat::unknown ? frame : convert_layout(frame, planes);
}

}  // namespace

struct Deinterlacer::Filter {
    std::optional<FilterGraph> graph;
    StreamFacts facts;
    AVRational time_base{};
    std::vector<Frame> ready;

    void pull() {
        while (auto picture = graph->pull()) {
            const auto pts = picture->pts;
            Frame frame = to_frame(std::move(picture), facts);
            frame.pts = pts == AV_NOPTS_VALUE ? kNoTimestamp : av_rescale_q(pts, graph->output().time_base, time_base);
            ready.push_back(std::move(frame));
        }
    }
    void end() {
        if (!graph) return;
        graph->end(AV_NOPTS_VALUE);
        pull();
        graph.reset();
    }
};

Deinterlacer::Deinterlacer() : filter_(std::make_unique<Filter>()) {
    static_cast<void>(filters());
}

std::vector<Frame> Deinterlacer::push(const Frame& given) {
    const Frame frame = in_planes(to_host(given));
    const auto picture = to_av_picture(frame);
    picture->pts = frame.pts;
    auto& filter = *filter_;
    const AVRational time_base = frame.time_base.known() ? ff::to_av(frame.time_base) : AVRational{1, 90000};
    const auto input = GraphInput::of(*picture, time_base, {0, 1});
    if (filter.graph && !(filter.graph->input() == input)) filter.end();
    filter.facts = {.time_base = frame.time_base,
                    .sample_aspect_ratio = frame.sample_aspect_ratio,
                    .orientation = frame.orientation,
                    .color = frame.color};
    filter.time_base = time_base;
    if (!filter.graph) filter.graph.emplace(input, "bwdif=mode=send_frame");
    filter.graph->push(picture.get());
    filter.pull();
    return std::exchange(filter.ready, {});
}

std::vector<Frame> Deinterlacer::flush() {
    filter_->end();
    return std::exchange(filter_->ready, {});
}

Deinterlacer::~Deinterlacer() = default;

}  // namespace tricodec
