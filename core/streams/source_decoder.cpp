// SPDX-License-Identifier: Apache-2.0
#include "streams/source_decoder.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/stage_scope.h"
#include "media/decoder_context.h"
#include "media/packet.h"
#include "media/stream_info.h"
#include "streams/gpu_surfaces.h"
#include "tricodec/decode/decoder.h"

namespace tricodec::streams {
namespace {

const AVCodec* choose_decoder(const AVStream& stream, const std::string& name) {
    const auto id = stream.codecpar->codec_id;
    if (name.empty()) {
        const auto* codec = find_decoder(id);
        TRICODEC_EXPECT(codec != nullptr, unsupported,
                        "this FFmpeg has no decoder for stream " + std::to_string(stream.index) + ", '" +
                            avcodec_get_name(id) + "'");
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

/// Decodes with libavcodec.
class CodecDecoder final : public SourceDecoder {
public:
    CodecDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options)
        : SourceDecoder(stream, {}),
          frame_rate_(av_guess_frame_rate(&format, &stream, nullptr)),
          context_(setup(format, stream, options)),
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
        const ff::CallLog call_log;
        StageScope scope(Stage::decode, packet == nullptr ? 0 : 1);
        num_decoded_ = 0;
        const Counted counted{scope, num_decoded_};
        context_.forget_lines();
        if (packet != nullptr) note_packet();
        const int code = context_.send(packet, [this] { return receive(); });
        if (code == AVERROR_EOF) return;  // the stream has ended already
        expect_decoded(code);
        while (receive()) {
        }
        if (packet == nullptr) {
            for (auto* output : outputs()) output->push(nullptr);
        }
    }

    void reset(std::optional<std::int64_t> keep_from_us) override {
        context_.flush();
        keep_from(keep_from_us);
    }

private:
    static DecoderSetup setup(AVFormatContext& format, AVStream& stream, const OutputOptions& options) {
        DecoderSetup setup;
        setup.codec = choose_decoder(stream, options.decoder);
        setup.parameters = describe_stream(format, stream).parameters;
        setup.by_caller = true;
        if (options.decoder_option) setup.settings = *options.decoder_option;
        setup.settings.try_emplace("threads", "1");
        setup.configure = [time_base = stream.time_base](AVCodecContext& context) { context.pkt_timebase = time_base; };
        return setup;
    }

    /// Passes one frame of the codec to the outputs. False if there is none now.
    bool receive() {
        const int code = context_.receive(*frame_);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return false;
        expect_decoded(code);
        ++num_decoded_;
        frame_->pts = frame_->best_effort_timestamp;
        const Unref unref{frame_.get()};
        note_frame();
        if (before_start(frame_->pts)) return true;
        for (auto* output : outputs()) output->push(frame_.get());
        return true;
    }

    void expect_decoded(int code) {
        if (code >= 0) return;
        (void)context_.take_lines();  // throws if the decoder refused the size of a picture
        fail(context_.code_of(code), "a packet of stream " + index() + " cannot be decoded: " + ff::error_text(code));
    }

    [[nodiscard]] std::string index() const { return std::to_string(SourceDecoder::stream().index); }

    /// Sets the frames of a scope at its end.
    struct Counted {
        StageScope& scope;
        const std::int64_t& num_frames;
        ~Counted() { scope.set_num_frames(num_frames); }
    };
    struct Unref {
        AVFrame* frame;
        ~Unref() { av_frame_unref(frame); }
    };

    AVRational frame_rate_{0, 1};
    DecoderContext context_;
    ff::FramePtr frame_;
    std::int64_t num_decoded_ = 0;  // in this call of send()
};

/// Options of FFmpeg's GPU decoders that have no effect here: the number of surfaces, the GPU (hw_accel names it),
/// threads of the CPU.
bool is_idle_option(std::string_view name) {
    return name == "surfaces" || name == "gpu" || name == "threads" || name == "thread_type";
}

void expect_decoder(const AVStream& stream, const OutputOptions& options) {
    const std::string codec = avcodec_get_name(stream.codecpar->codec_id);
    const auto& name = options.decoder;
    TRICODEC_EXPECT(name.empty() || name == codec || name == codec + "_cuvid", invalid_argument,
                    "decoder '" + name + "' does not decode stream " + std::to_string(stream.index) +
                        " with hw_accel; use '" + codec + "_cuvid', or none");
    for (const auto& [key, value] : options.decoder_option.value_or(std::map<std::string, std::string>{})) {
        TRICODEC_EXPECT(is_idle_option(key), invalid_argument,
                        "decoder option '" + key +
                            "' is not accepted with hw_accel; width=, height= and filter_desc= "
                            "of the stream crop and resize");
    }
}

/// Decodes with tricodec's own decoder. Frames of a GPU (NVDEC) stay in its memory.
class EngineDecoder final : public SourceDecoder {
public:
    EngineDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options)
        : SourceDecoder(stream, options.hw_accel), info_(describe_stream(format, stream)) {
        (void)device_of(options.hw_accel);  // refuses anything but a device
        expect_decoder(stream, options);
        decoder_ = Decoder::create(info_, {.device = options.hw_accel});
        frame_rate_ = av_guess_frame_rate(&format, &stream, nullptr);
    }

    GraphInput frames() const noexcept override {
        GraphInput input;
        const auto& parameters = *SourceDecoder::stream().codecpar;
        input.video = true;
        input.time_base = SourceDecoder::stream().time_base;
        input.format = parameters.format;
        input.width = parameters.width;
        input.height = parameters.height;
        input.frame_rate = frame_rate_;
        input.sample_aspect_ratio = parameters.sample_aspect_ratio;
        return input;
    }

    void send(const AVPacket* packet) override {
        if (packet == nullptr) {
            if (std::exchange(ended_, true)) return;
            decoder_->send_end();
            receive();
            for (auto* output : outputs()) output->push(nullptr);
            return;
        }
        note_packet();
        ff::PacketPtr shared(av_packet_clone(packet));
        TRICODEC_EXPECT(shared != nullptr, out_of_memory, "could not share a packet");
        decoder_->send(to_packet(std::move(shared), info_.time_base));
        receive();
        const auto known = std::exchange(num_issues_, decoder_->num_issues());
        if (num_issues_ <= known) return;
        fail(ErrorCode::corrupt_data, "a packet of stream " + std::to_string(SourceDecoder::stream().index) +
                                          " cannot be decoded: " + decoder_->issues().back().message);
    }

    void reset(std::optional<std::int64_t> keep_from_us) override {
        decoder_->reset(true);
        num_issues_ = decoder_->num_issues();
        ended_ = false;
        keep_from(keep_from_us);
    }

private:
    void receive() {
        while (auto frame = decoder_->receive()) {
            note_frame();
            if (frame->pts != kNoTimestamp && before_start(frame->pts)) continue;
            for (auto* output : outputs()) output->push(*frame);
        }
    }

    StreamInfo info_;
    std::unique_ptr<Decoder> decoder_;
    AVRational frame_rate_{0, 1};
    std::int64_t num_issues_ = 0;
    bool ended_ = false;
};

}  // namespace

void SourceDecoder::expect_compatible(const OutputOptions& options) const {
    TRICODEC_EXPECT(!options.decoder_option && options.decoder.empty(), invalid_argument,
                    "stream " + std::to_string(stream_.index) +
                        " has its decoder already: decoder and decoder_option can be given with the first output only");
    TRICODEC_EXPECT(options.hw_accel == hw_accel_, invalid_argument,
                    "stream " + std::to_string(stream_.index) + " is decoded with hw_accel '" + hw_accel_ +
                        "'; its other outputs must say the same, not '" + options.hw_accel + "'");
}

bool SourceDecoder::remove(StreamOutput* output) {
    outputs_.remove(output);
    return outputs_.empty();
}

void SourceDecoder::expect_frames(const std::string& source) const {
    TRICODEC_EXPECT(has_frames_ || stream_.codecpar->codec_type != AVMEDIA_TYPE_VIDEO, corrupt_data,
                    "stream " + std::to_string(stream_.index) + " (" + avcodec_get_name(stream_.codecpar->codec_id) +
                        ") of '" + source + "' has " +
                        (has_packets_ ? "no packet that can be decoded" : "no packets in this file"));
}

bool SourceDecoder::before_start(std::int64_t pts) const noexcept {
    return keep_from_us_ && pts != AV_NOPTS_VALUE &&
           av_compare_ts(pts, stream_.time_base, *keep_from_us_, AV_TIME_BASE_Q) < 0;
}

std::unique_ptr<SourceDecoder> make_decoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options) {
    if (options.hw_accel.empty()) return std::make_unique<CodecDecoder>(format, stream, options);
    TRICODEC_EXPECT(stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                    "hw_accel is for video; decode audio without it");
    return std::make_unique<EngineDecoder>(format, stream, options);
}

}  // namespace tricodec::streams
