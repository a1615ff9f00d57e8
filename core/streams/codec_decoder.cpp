// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "media/decoder_context.h"
#include "media/dictionary.h"
#include "media/picture_limits.h"
#include "streams/source_decoder.h"

namespace tricodec::streams {
namespace {

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

/// By one of libavcodec's decoders.
class CodecDecoder final : public SourceDecoder {
public:
    CodecDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options)
        : SourceDecoder(stream, {}),
          codec_(*find_decoder(stream, options.decoder)),
          options_(options.decoder_option.value_or(std::map<std::string, std::string>{})),
          frame_rate_(av_guess_frame_rate(&format, &stream, nullptr)),
          context_([this] { return open(); }),
          frame_(ff::make_frame()) {}

    GraphInput frames() const noexcept override {
        GraphInput input;
        input.video = context_->codec_type == AVMEDIA_TYPE_VIDEO;
        input.time_base = SourceDecoder::stream().time_base;
        if (input.video) {
            input.format = context_->pix_fmt;
            input.width = context_->width;
            input.height = context_->height;
            input.frame_rate = frame_rate_;
            input.sample_aspect_ratio = context_->sample_aspect_ratio;
            input.color_space = context_->colorspace;
            input.color_range = context_->color_range;
        } else {
            input.format = context_->sample_fmt;
            input.sample_rate = context_->sample_rate;
            input.num_channels = context_->ch_layout.nb_channels;
            if (context_->ch_layout.order == AV_CHANNEL_ORDER_NATIVE) input.channel_mask = context_->ch_layout.u.mask;
        }
        return input;
    }

    void send(const AVPacket* packet) override {
        context_.expect_threads();
        const ff::CallLog call_log;
        (void)log_.take();
        if (packet != nullptr) note_packet();
        int code = context_.send(packet);
        if (code == AVERROR(EAGAIN)) {
            receive();  // what is left of a call that threw
            code = context_.send(packet);
        }
        if (code == AVERROR_EOF) return;  // ended before
        expect_decoded(code);
        receive();
        if (packet == nullptr) {
            for (auto* output : outputs()) output->push(nullptr);
        }
    }

    void reset(std::optional<std::int64_t> keep_from_us) override {
        context_.flush();
        keep_from(keep_from_us);
    }

private:
    ff::CodecContextPtr open() {
        ff::CodecContextPtr context(avcodec_alloc_context3(&codec_));
        TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate a decoder");
        const auto& source = SourceDecoder::stream();
        const ff::CallLog call_log;
        ff::check_media(avcodec_parameters_to_context(context.get(), source.codecpar),
                        "the stream's headers cannot be used");
        context->opaque = &log_;
        context->pkt_timebase = source.time_base;
        context->max_pixels = size_limits_.max_coded_pixels();
        context->flags |= AV_CODEC_FLAG_UNALIGNED;  // exact cropping, as video/avcodec has it
        Dictionary settings(options_);
        if (!settings.contains("threads")) settings.set("threads", "1");
        const int opened = ff::open_codec(*context, codec_, &settings.entries);
        if (opened < 0) {
            fail(opened == AVERROR_OPTION_NOT_FOUND || opened == AVERROR(EINVAL) ? ErrorCode::invalid_argument
                                                                                 : ErrorCode::unsupported,
                 std::string("cannot open the decoder '") + codec_.name + "': " + ff::error_text(opened));
        }
        TRICODEC_EXPECT(
            settings.keys().empty(), invalid_argument,
            "unexpected decoder options " + settings.keys() + ": '" + codec_.name + "' has none of these names");
        return context;
    }

    void receive() {
        for (;;) {
            const int code = avcodec_receive_frame(context_.get(), frame_.get());
            if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
            expect_decoded(code);
            frame_->pts = frame_->best_effort_timestamp;
            const Unref unref{frame_.get()};
            if (context_->codec_type == AVMEDIA_TYPE_VIDEO) {
                size_limits_.expect(frame_->width, frame_->height, "a picture of stream " + index());
            }
            note_frame();
            if (before_start(frame_->pts)) continue;
            for (auto* output : outputs()) output->push(frame_.get());
        }
    }

    void expect_decoded(int code) {
        if (code >= 0) return;
        size_limits_.expect_no_refusal(log_.take());
        const auto picture_bytes = std::int64_t{8} * context_->coded_width * context_->coded_height;
        fail(ff::damage_code(code, picture_bytes),
             "a packet of stream " + index() + " cannot be decoded: " + ff::error_text(code));
    }

    [[nodiscard]] std::string index() const { return std::to_string(SourceDecoder::stream().index); }

    struct Unref {
        AVFrame* frame;
        ~Unref() { av_frame_unref(frame); }
    };

    const AVCodec& codec_;
    std::map<std::string, std::string> options_;
    AVRational frame_rate_{0, 1};
    PictureLimits size_limits_;
    ff::LogCapture log_;  // outlives the context
    DecoderContext context_;
    ff::FramePtr frame_;
};

}  // namespace

std::unique_ptr<SourceDecoder> make_codec_decoder(AVFormatContext& format, AVStream& stream,
                                                  const OutputOptions& options) {
    return std::make_unique<CodecDecoder>(format, stream, options);
}

}  // namespace tricodec::streams
