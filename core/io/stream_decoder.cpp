// SPDX-License-Identifier: Apache-2.0
#include "io/stream_decoder.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include "media/dictionary.h"

namespace tricodec::io {
namespace {

AVPixelFormat choose_cuda(AVCodecContext*, const AVPixelFormat* formats) {
    for (const auto* format = formats; *format != AV_PIX_FMT_NONE; ++format) {
        if (*format == AV_PIX_FMT_CUDA) return *format;
    }
    return AV_PIX_FMT_NONE;
}

const AVCodec* find_decoder(const AVStream& stream, const std::string& name) {
    const auto id = stream.codecpar->codec_id;
    if (name.empty()) {
        const auto* codec = avcodec_find_decoder(id);
        TRICODEC_EXPECT(
            codec != nullptr, unsupported,
            "nothing here decodes stream " + std::to_string(stream.index) + ", '" + avcodec_get_name(id) + "'");
        return codec;
    }
    const auto* codec = avcodec_find_decoder_by_name(name.c_str());
    TRICODEC_EXPECT(codec != nullptr, invalid_argument,
                    "decoder '" + name +
                        "' is unknown; tricodec.io.ffmpeg_utils lists those of this FFmpeg "
                        "(get_video_decoders(), get_audio_decoders())");
    TRICODEC_EXPECT(codec->id == id, invalid_argument,
                    "decoder '" + name + "' is one of '" + avcodec_get_name(codec->id) + "', but stream " +
                        std::to_string(stream.index) + " is '" + avcodec_get_name(id) + "'");
    return codec;
}

}  // namespace

StreamOutput::StreamOutput(const GraphInput& input, const OutputOptions& options, int source_index)
    : description_(options.filter_description),
      source_index_(source_index),
      input_(input),
      hardware_(!options.hw_accel.empty()),
      chunks_(options.frames_per_chunk, options.buffer_chunk_size) {
    if (!hardware_) make_graph(input);
}

void StreamOutput::make_graph(const GraphInput& input) {
    graph_.reset();
    graph_ = std::make_unique<FilterGraph>(input, description_);
    input_ = input;
}

void StreamOutput::push(AVFrame* frame) {
    if (frame == nullptr) {
        if (graph_ == nullptr) return;
        graph_->end(end_pts_);
        drain();
        return;
    }
    const auto input = GraphInput::of(*frame, input_.time_base, input_.frame_rate);
    if (graph_ == nullptr || !(input == graph_->input())) {
        if (graph_ != nullptr) {  // the stream changes its size or format: what the filters hold comes out first
            graph_->end(end_pts_);
            drain();
        }
        make_graph(input);
    }
    graph_->push(frame);
    if (frame->pts != AV_NOPTS_VALUE) end_pts_ = frame->pts + ff::duration(*frame);
    drain();
}

void StreamOutput::drain() {
    const auto output = graph_->output();
    while (auto frame = graph_->pull()) {
        double row_seconds = 0;
        if (output.video) {
            row_seconds = output.frame_rate.num > 0 ? av_q2d(av_inv_q(output.frame_rate)) : 0;
        } else {
            row_seconds = 1.0 / output.sample_rate;
        }
        const double seconds =
            frame->pts == AV_NOPTS_VALUE ? next_seconds_ : static_cast<double>(frame->pts) * av_q2d(output.time_base);
        next_seconds_ = seconds + row_seconds * static_cast<double>(ChunkLayout::num_rows(*frame));
        chunks_.push(std::move(frame), seconds, row_seconds);
    }
}

void StreamOutput::reset() {
    chunks_.clear();
    next_seconds_ = 0;
    end_pts_ = AV_NOPTS_VALUE;
    if (graph_ != nullptr && !hardware_) {
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

StreamDecoder::StreamDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options)
    : stream_(stream), hw_accel_(options.hw_accel), frame_(ff::make_frame()) {
    if (!hw_accel_.empty()) device_ = hw_device(hw_accel_);
    const auto* codec = find_decoder(stream, options.decoder);
    context_.reset(avcodec_alloc_context3(codec));
    TRICODEC_EXPECT(context_ != nullptr, out_of_memory, "could not allocate a decoder");
    ff::check(avcodec_parameters_to_context(context_.get(), stream.codecpar), "the stream's headers cannot be used");
    context_->pkt_timebase = stream.time_base;
    if (device_ != nullptr) {
        context_->hw_device_ctx = av_buffer_ref(device_.get());
        context_->get_format = choose_cuda;
    }
    Dictionary settings(options.decoder_option.value_or(std::map<std::string, std::string>{}));
    if (!settings.contains("threads")) settings.set("threads", "1");
    (void)ff::take_last_log_line();
    const int opened = avcodec_open2(context_.get(), codec, &settings.entries);
    if (opened < 0) {
        fail(opened == AVERROR_OPTION_NOT_FOUND || opened == AVERROR(EINVAL) ? ErrorCode::invalid_argument
                                                                             : ErrorCode::unsupported,
             std::string("cannot open the decoder '") + codec->name + "': " + ff::error_text(opened));
    }
    TRICODEC_EXPECT(
        settings.keys().empty(), invalid_argument,
        "unexpected decoder options " + settings.keys() + ": '" + codec->name + "' has none of these names");
    frame_rate_ = av_guess_frame_rate(&format, &stream, nullptr);
}

void StreamDecoder::expect_compatible(const OutputOptions& options) const {
    TRICODEC_EXPECT(!options.decoder_option && options.decoder.empty(), invalid_argument,
                    "stream " + std::to_string(stream_.index) +
                        " has its decoder already: decoder and decoder_option can be given with the first output only");
    TRICODEC_EXPECT(options.hw_accel == hw_accel_, invalid_argument,
                    "stream " + std::to_string(stream_.index) + " is decoded with hw_accel '" + hw_accel_ +
                        "'; its other outputs must say the same, not '" + options.hw_accel + "'");
}

GraphInput StreamDecoder::frames() const noexcept {
    GraphInput input;
    input.video = context_->codec_type == AVMEDIA_TYPE_VIDEO;
    input.time_base = stream_.time_base;
    if (input.video) {
        input.format = context_->pix_fmt;
        input.width = context_->width;
        input.height = context_->height;
        input.frame_rate = frame_rate_;
        input.sample_aspect_ratio = context_->sample_aspect_ratio;
    } else {
        input.format = context_->sample_fmt;
        input.sample_rate = context_->sample_rate;
        input.num_channels = context_->ch_layout.nb_channels;
        if (context_->ch_layout.order == AV_CHANNEL_ORDER_NATIVE) input.channel_mask = context_->ch_layout.u.mask;
    }
    return input;
}

bool StreamDecoder::remove(StreamOutput* output) {
    outputs_.remove(output);
    return outputs_.empty();
}

void StreamDecoder::send(const AVPacket* packet) {
    (void)ff::take_last_log_line();
    int code = avcodec_send_packet(context_.get(), packet);
    if (code == AVERROR_EOF) return;  // ended before
    if (code < 0) {
        fail(code == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::corrupt_data,
             "a packet of stream " + std::to_string(stream_.index) + " cannot be decoded: " + ff::error_text(code));
    }
    receive();
    if (packet == nullptr) {
        for (auto* output : outputs_) output->push(nullptr);
    }
}

void StreamDecoder::receive() {
    for (;;) {
        const int code = avcodec_receive_frame(context_.get(), frame_.get());
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
        ff::check(code, "stream " + std::to_string(stream_.index) + " cannot be decoded");
        frame_->pts = frame_->best_effort_timestamp;
        if (keep_from_us_ && frame_->pts != AV_NOPTS_VALUE &&
            av_compare_ts(frame_->pts, stream_.time_base, *keep_from_us_, AV_TIME_BASE_Q) < 0) {
            av_frame_unref(frame_.get());
            continue;
        }
        if (frame_->hw_frames_ctx != nullptr) download();
        for (auto* output : outputs_) output->push(frame_.get());
        av_frame_unref(frame_.get());
    }
}

/// Filters and chunks are in host memory.
void StreamDecoder::download() {
    auto copy = ff::make_frame();
    ff::check(av_hwframe_transfer_data(copy.get(), frame_.get(), 0), "copying a picture from the GPU");
    ff::check(av_frame_copy_props(copy.get(), frame_.get()), "copying a picture's facts");
    frame_ = std::move(copy);
}

void StreamDecoder::reset(std::optional<std::int64_t> keep_from_us) {
    avcodec_flush_buffers(context_.get());
    keep_from_us_ = keep_from_us;
}

}  // namespace tricodec::io
