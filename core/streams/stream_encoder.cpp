// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_encoder.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stage_scope.h"
#include "base/suggestion.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/encoder_choice.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"

namespace tricodec::streams {
namespace {

constexpr std::int64_t kSamplesAtOnce = 16384;

}  // namespace

StreamEncoder::StreamEncoder(const AudioInput& input, const std::string& container, bool global_header)
    : video_(false),
      context_(choose_encoder(input.encoder, AVMEDIA_TYPE_AUDIO, container)),
      maker_(FrameMaker::audio(parse_sample_format(input.format, "format"), input.num_channels, input.sample_rate)),
      time_base_{1, input.sample_rate} {
    const auto& codec = context_.codec();
    const auto format = av_get_sample_fmt(input.format.c_str());
    context_->sample_fmt = choose_sample_format(codec, input.encoder_format, format);
    context_->sample_rate = choose_sample_rate(codec, input.encoder_sample_rate, input.sample_rate);
    const int channels = choose_channels(codec, input.encoder_num_channels, input.num_channels);
    av_channel_layout_default(&context_->ch_layout, channels);
    context_->time_base = {1, context_->sample_rate};
    configure(input.codec_config, global_header);
    open(input.encoder_option);

    std::vector<std::string> filters;
    if (!input.filter_description.empty()) filters.push_back(input.filter_description);
    if (context_->sample_rate != input.sample_rate)
        filters.push_back("aresample=" + std::to_string(context_->sample_rate));
    if (context_->sample_fmt != format || channels != input.num_channels) {
        filters.push_back(std::string("aformat=sample_fmts=") + av_get_sample_fmt_name(context_->sample_fmt) +
                          ":channel_layouts=" + std::to_string(channels) + "c");
    }
    GraphInput frames;
    frames.format = format;
    frames.time_base = time_base_;
    frames.sample_rate = input.sample_rate;
    frames.num_channels = input.num_channels;
    graph_ = std::make_unique<FilterGraph>(frames, listed(filters, {}, ","));
    const bool any_size = (codec.capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE) != 0;
    if (!any_size && context_->frame_size > 0) graph_->set_frame_size(context_->frame_size);
    stream_ = context_.describe();
}

StreamEncoder::StreamEncoder(const VideoInput& input, const std::string& container, bool global_header)
    : video_(true),
      context_(choose_encoder(input.encoder, AVMEDIA_TYPE_VIDEO, container)),
      maker_(FrameMaker::video(parse_pixel_format(input.format, "format"), input.width, input.height)) {
    const auto& codec = context_.codec();
    expect_encodable(input.width, input.height);
    const auto format = av_get_pix_fmt(input.format.c_str());
    const auto rate = parse_frame_rate(input.frame_rate, "frame_rate");
    time_base_ = av_inv_q(rate);
    auto encoded = choose_pixel_format(codec, input.encoder_format, format);
    GraphInput frames;
    frames.video = true;
    frames.format = format;
    frames.time_base = time_base_;
    frames.frame_rate = rate;
    frames.width = input.width;
    frames.height = input.height;
    if (!input.hw_accel.empty()) {
        const bool converts =
            (!input.encoder_format.empty() && av_get_pix_fmt(input.encoder_format.c_str()) != format) ||
            (input.encoder_width != 0 && input.encoder_width != input.width) ||
            (input.encoder_height != 0 && input.encoder_height != input.height) ||
            (input.encoder_frame_rate != 0 && input.encoder_frame_rate != input.frame_rate);
        TRICODEC_EXPECT(!converts, invalid_argument,
                        "frames of a GPU are encoded as they are: with hw_accel, encoder_format, encoder_width, "
                        "encoder_height and encoder_frame_rate must be None or what the chunks have");
        surfaces_.emplace(input.hw_accel, format, input.width, input.height);
        frames.format = encoded = AV_PIX_FMT_CUDA;
        frames.hw_frames = surfaces_->frames();
    }
    const auto encoded_rate = choose_frame_rate(codec, input.encoder_frame_rate, rate);
    context_->pix_fmt = encoded;
    context_->width = input.encoder_width == 0 ? input.width : input.encoder_width;
    context_->height = input.encoder_height == 0 ? input.height : input.encoder_height;
    expect_encodable(context_->width, context_->height);
    context_->framerate = encoded_rate;
    context_->time_base = av_inv_q(encoded_rate);
    if (surfaces_) {
        context_->sw_pix_fmt = format;
        context_->hw_frames_ctx = av_buffer_ref(surfaces_->frames());
    }
    configure(input.codec_config, global_header);
    open(input.encoder_option);

    std::vector<std::string> filters;
    if (!input.filter_description.empty()) filters.push_back(input.filter_description);
    if (context_->width != input.width || context_->height != input.height) {
        filters.push_back("scale=" + std::to_string(context_->width) + ":" + std::to_string(context_->height));
    }
    // The filters of the caller may end in any format and rate.
    const bool own = !input.filter_description.empty() && !surfaces_;
    if (own || encoded != frames.format) filters.push_back(std::string("format=") + av_get_pix_fmt_name(encoded));
    if (own || av_cmp_q(encoded_rate, rate) != 0) {
        filters.push_back("fps=" + std::to_string(encoded_rate.num) + "/" + std::to_string(encoded_rate.den));
    }
    graph_ = std::make_unique<FilterGraph>(frames, listed(filters, {}, ","));
    const auto result = graph_->output();
    TRICODEC_EXPECT(result.width == context_->width && result.height == context_->height, invalid_argument,
                    "the filters '" + input.filter_description + "' make pictures of " +
                        size_text(result.width, result.height) + ", but the encoder was made for " +
                        size_text(context_->width, context_->height) + "; set encoder_width and encoder_height");
    stream_ = context_.describe();
}

void StreamEncoder::configure(const CodecConfig& config, bool global_header) {
    expect_rate(std::max<std::int64_t>(config.bit_rate, 0), "bit_rate");
    if (config.bit_rate >= 0) context_->bit_rate = config.bit_rate;
    if (config.compression_level >= 0) context_->compression_level = config.compression_level;
    if (config.gop_size >= 0) context_->gop_size = config.gop_size;
    if (config.max_b_frames >= 0) context_->max_b_frames = config.max_b_frames;
    if (config.qscale) {
        context_->flags |= AV_CODEC_FLAG_QSCALE;
        context_->global_quality = static_cast<int>(std::lround(FF_QP2LAMBDA * *config.qscale));
    }
    if (global_header) context_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    context_->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;  // libavcodec's own opus and vorbis need it
}

void StreamEncoder::open(const std::map<std::string, std::string>& options) {
    auto settings = options;
    settings.try_emplace("threads", "1");
    context_.open(std::move(settings));
}

void StreamEncoder::place(std::optional<double> seconds) {
    if (!seconds) return;
    TRICODEC_EXPECT(std::isfinite(*seconds) && *seconds >= 0, invalid_argument,
                    "pts must be a finite number of seconds of at least 0, not " + std::to_string(*seconds));
    const double units = *seconds / av_q2d(time_base_);
    TRICODEC_EXPECT(units <= static_cast<double>(ff::kFarthest), invalid_argument,
                    "pts is " + std::to_string(*seconds) + " s, which is too large for a time stamp");
    const auto pts = std::llround(units);
    if (pts < next_pts_ && !std::exchange(warned_, true)) {
        log(LogLevel::warning, "pts " + std::to_string(*seconds) + " of a chunk is before the end of the last one (" +
                                   std::to_string(static_cast<double>(next_pts_) * av_q2d(time_base_)) +
                                   "); the stream may not play");
    }
    next_pts_ = pts;
}

void StreamEncoder::write(const TensorView& chunk, std::optional<double> seconds, const PacketSink& sink) {
    TRICODEC_EXPECT(!flushed_, invalid_argument, "the streams are flushed; make a new StreamWriter to write more");
    const bool on_gpu = chunk.device.kind == Device::Kind::cuda;
    TRICODEC_EXPECT(on_gpu == surfaces_.has_value(), invalid_argument,
                    surfaces_ ? "Input tensor has to be on CUDA." : "Input tensor has to be on CPU.");
    maker_.expect(chunk);
    place(seconds);
    const auto step = video_ ? 1 : kSamplesAtOnce;
    for (std::int64_t from = 0; from < chunk.shape[0]; from += step) {
        check_interrupt();
        const auto count = std::min<std::int64_t>(step, chunk.shape[0] - from);
        const StageScope scope(Stage::filter, 1);
        auto* frame = surfaces_ ? surfaces_->make(chunk[from]) : maker_.make(chunk, from, count);
        frame->pts = next_pts_;
        next_pts_ += video_ ? 1 : count;
        filter(frame, sink);
    }
}

void StreamEncoder::flush(const PacketSink& sink) {
    if (std::exchange(flushed_, true)) return;
    const StageScope scope(Stage::filter, 0);
    filter(nullptr, sink);
    encode(nullptr, sink);
}

void StreamEncoder::filter(AVFrame* frame, const PacketSink& sink) {
    if (frame != nullptr) {
        graph_->push(frame);
    } else {
        graph_->end(next_pts_);
    }
    const auto time_base = graph_->output().time_base;
    while (auto filtered = graph_->pull()) {
        filtered->pts = av_rescale_q(filtered->pts, time_base, context_->time_base);
        filtered->pict_type = AV_PICTURE_TYPE_NONE;
        if ((context_->flags & AV_CODEC_FLAG_QSCALE) != 0) filtered->quality = context_->global_quality;
        encode(filtered.get(), sink);
    }
}

void StreamEncoder::encode(const AVFrame* frame, const PacketSink& sink) {
    const StageScope scope(Stage::encode, frame == nullptr ? 0 : 1);
    const ff::CallLog call_log;
    context_.send(frame);
    while (receive(sink)) check_interrupt();
}

/// Passes one packet of the encoder to the sink. False if there is none now.
bool StreamEncoder::receive(const PacketSink& sink) {
    auto packet = context_.receive();
    if (packet == nullptr) return false;
    if (video_ && packet->duration == 0) packet->duration = 1;
    sink(to_packet(std::move(packet), ff::to_rational(context_->time_base)));
    return true;
}

}  // namespace tricodec::streams
