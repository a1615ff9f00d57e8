// SPDX-License-Identifier: Apache-2.0
#include "streams/source_decoder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/stage_scope.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/decoder_context.h"
#include "ffmpeg/stream_info.h"
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
        : SourceDecoder(format, stream, {}), context_(setup(format, stream, options)), frame_(ff::make_frame()) {
        if (context_->codec_type == AVMEDIA_TYPE_AUDIO && context_->sample_rate > 0)
            sample_ = {1, context_->sample_rate};
    }

    GraphInput frames() const noexcept override {
        GraphInput input;
        input.video = context_->codec_type == AVMEDIA_TYPE_VIDEO;
        input.time_base = SourceDecoder::stream().time_base;
        if (input.video) {
            input.format = context_->pix_fmt;
            input.width = context_->width;
            input.height = context_->height;
            input.frame_rate = frame_rate();
            input.sample_aspect_ratio = context_->sample_aspect_ratio;
            input.color_space = context_->colorspace;
            input.color_range = context_->color_range;
        } else {
            input.time_base = sample_;
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

    void reset(StreamStart start) override {
        context_.flush();
        // libavcodec would not give the last frames after a recovery point of H.264.
        context_->flags &= ~AV_CODEC_FLAG_OUTPUT_CORRUPT;
        if (start.whole) context_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
        next_sample_.reset();
        start_at(std::move(start));
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
        if (code < 0) return false;
        ++num_decoded_;
        frame_->pts = frame_->best_effort_timestamp;
        const Unref unref{frame_.get()};
        note_frame();
        if (!set_time()) return true;
        for (auto* output : outputs()) output->push(frame_.get());
        return true;
    }

    /// False if the frame is left out.
    bool set_time() {
        if (context_->codec_type == AVMEDIA_TYPE_AUDIO) {
            set_sample_time();
            if (is_before_start(frame_->pts, sample_)) return false;
            arrive();
            return true;
        }
        const auto time = time_of_next(frame_->pts);
        if (time) frame_->pts = *time;
        return time.has_value();
    }

    /// The time stamp in samples. Containers round those of sound to their ticks; samples that follow one another
    /// within a tick have no gap.
    void set_sample_time() {
        const auto time_base = SourceDecoder::stream().time_base;
        const auto tick = std::max<std::int64_t>(1, av_rescale_q_rnd(1, time_base, sample_, AV_ROUND_UP));
        const bool timed = frame_->pts != AV_NOPTS_VALUE;
        const auto stated = timed ? av_rescale_q(frame_->pts, time_base, sample_) : next_sample_.value_or(0);
        const bool follows = next_sample_ && std::abs(stated - *next_sample_) <= tick;
        frame_->pts = follows ? *next_sample_ : stated;
        next_sample_ = frame_->pts + frame_->nb_samples;
        ff::set_duration(*frame_, frame_->nb_samples);
    }

    void expect_decoded(int code) {
        // A seek may lead into the middle of a frame of sound.
        const bool settles = context_->codec_type == AVMEDIA_TYPE_AUDIO && is_seeking();
        if (code >= 0 || (settles && code == AVERROR_INVALIDDATA)) return;
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

    DecoderContext context_;
    ff::FramePtr frame_;
    AVRational sample_{1, 1};  // the time base of sound
    std::optional<std::int64_t> next_sample_;
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
        : SourceDecoder(format, stream, options.hw_accel), info_(describe_stream(format, stream)) {
        (void)device_of(options.hw_accel);  // refuses anything but a device
        expect_decoder(stream, options);
        // Threads would hold frames back until the end, and then give more at once than the chunks of an output hold.
        decoder_ = Decoder::create(info_, {.device = options.hw_accel, .num_threads = 1});
    }

    GraphInput frames() const noexcept override {
        GraphInput input;
        const auto& parameters = *SourceDecoder::stream().codecpar;
        input.video = true;
        input.time_base = SourceDecoder::stream().time_base;
        input.format = parameters.format;
        input.width = parameters.width;
        input.height = parameters.height;
        input.frame_rate = frame_rate();
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

    void reset(StreamStart start) override {
        decoder_->reset(true);
        num_issues_ = decoder_->num_issues();
        ended_ = false;
        start_at(std::move(start));
    }

private:
    void receive() {
        while (auto frame = decoder_->receive()) {
            note_frame();
            const auto time = time_of_next(frame->pts);
            if (!time) continue;
            frame->pts = *time;
            for (auto* output : outputs()) output->push(*frame);
        }
    }

    StreamInfo info_;
    std::unique_ptr<Decoder> decoder_;
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

SourceDecoder::SourceDecoder(AVFormatContext& format, AVStream& stream, std::string hw_accel)
    : stream_(stream), hw_accel_(std::move(hw_accel)), frame_rate_(av_guess_frame_rate(&format, &stream, nullptr)) {}

void SourceDecoder::start_at(StreamStart start) noexcept {
    start_ = std::move(start);
    num_given_ = 0;
    timed_pts_ = num_untimed_ = 0;
}

bool SourceDecoder::is_before_start(std::int64_t pts, AVRational time_base) const noexcept {
    constexpr double kMicrosecond = 1e-6;  // callers round times to it
    return start_.from_seconds && static_cast<double>(pts) * av_q2d(time_base) < *start_.from_seconds - kMicrosecond;
}

std::optional<std::int64_t> SourceDecoder::time_of_next(std::int64_t pts) {
    if (start_.num_left_out > 0) {
        --start_.num_left_out;
        return std::nullopt;
    }
    if (num_given_ < start_.pts.size()) pts = start_.pts[num_given_++];
    if (pts == AV_NOPTS_VALUE) {
        const auto frame = frame_rate_.num > 0 ? av_inv_q(frame_rate_) : AVRational{1, 25};  // FFmpeg's assumption
        pts = timed_pts_ + av_rescale_q(num_untimed_++, frame, stream_.time_base);
    } else {
        timed_pts_ = pts;
        num_untimed_ = 1;
    }
    if (is_before_start(pts, stream_.time_base)) return std::nullopt;
    return pts;
}

std::unique_ptr<SourceDecoder> make_decoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options) {
    if (options.hw_accel.empty()) return std::make_unique<CodecDecoder>(format, stream, options);
    TRICODEC_EXPECT(stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                    "hw_accel is for video; decode audio without it");
    return std::make_unique<EngineDecoder>(format, stream, options);
}

}  // namespace tricodec::streams
