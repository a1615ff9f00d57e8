// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_encoder.h"

extern "C" {
#include <libavutil/audio_fifo.h>
}

#include <algorithm>
#include <cmath>
#include <utility>

#include "audio/resampler.h"
#include "base/stage_scope.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/encoder_context.h"
#include "tricodec/base/error.h"
#include "tricodec/container/muxer.h"

namespace tricodec {
namespace {

constexpr int kSamplesAtOnce = 16384;  // of encoders that take any number
constexpr int kMostChannels = 64;      // of libswresample

bool is_sound(DType dtype) noexcept {
    return dtype == DType::float32 || dtype == DType::int16;
}

const AVCodec& find_audio_encoder(const std::string& name, const std::string& container) {
    const auto* known = name.empty() ? nullptr : avcodec_descriptor_get_by_name(name.c_str());
    if (known != nullptr && known->type == AVMEDIA_TYPE_AUDIO) {
        const auto* codec = find_encoder(known->id);
        TRICODEC_EXPECT(codec != nullptr, unsupported,
                        "this FFmpeg has no encoder for '" + name + "'; use 'aac', 'flac' or 'pcm_s16le'");
        return *codec;
    }
    return choose_encoder(name, AVMEDIA_TYPE_AUDIO, container);
}

class AvAudioEncoder final : public AudioEncoder {
public:
    AvAudioEncoder(const AudioInputForm& input, const AudioEncoding& encoding)
        : input_(input), context_(find_audio_encoder(encoding.codec, input.container)), frame_(ff::make_frame()) {
        TRICODEC_EXPECT(
            input.sample_rate > 0 && input.num_channels > 0 && input.num_channels <= kMostChannels, invalid_argument,
            "sound of " + std::to_string(input.sample_rate) + " Hz and " + std::to_string(input.num_channels) +
                " channels cannot be encoded; use a positive rate and 1 to 64 channels");
        TRICODEC_EXPECT(is_sound(input.dtype), invalid_argument,
                        "sound of type " + std::string(to_string(input.dtype)) +
                            " cannot be encoded; use float32 (-1 to 1) or int16");
        const auto& codec = context_.codec();
        const auto form = planar_format(input.dtype);
        context_->sample_fmt = best_format(encoder_sample_formats(codec), form);
        context_->sample_rate = choose_sample_rate(codec, encoding.sample_rate, input.sample_rate);
        const ChannelLayout layout(choose_channels(codec, encoding.num_channels, input.num_channels));
        ff::check(av_channel_layout_copy(&context_->ch_layout, &layout.get()), "copying a channel layout");
        context_->time_base = {1, context_->sample_rate};
        expect_rate(encoding.bit_rate, "audio_bit_rate");
        if (encoding.bit_rate > 0) context_->bit_rate = encoding.bit_rate;
        if (wants_global_headers(input.container)) context_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        context_->flags |= AV_CODEC_FLAG_BITEXACT;
        CodecSettings settings(encoding.options.begin(), encoding.options.end());
        settings.try_emplace("threads", "1");
        context_.open(std::move(settings));
        stream_ = context_.describe();
        const SampleForm encoded{context_->sample_rate, context_->sample_fmt, layout};
        conversion_ = make_conversion({input.sample_rate, form, ChannelLayout(input.num_channels)}, encoded);
        fifo_.reset(av_audio_fifo_alloc(context_->sample_fmt, layout.num_channels(), kSamplesAtOnce));
        TRICODEC_EXPECT(fifo_ != nullptr, out_of_memory, "could not allocate a queue of samples");
        const bool any_size = (codec.capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE) != 0;
        frame_size_ = any_size || context_->frame_size <= 0 ? kSamplesAtOnce : context_->frame_size;
        next_pts_ = std::llround(input.start_seconds * context_->sample_rate);
    }

    const StreamInfo& stream() const noexcept override { return stream_; }
    std::string engine() const override { return "libavcodec " + std::string(context_.codec().name); }

    std::vector<Packet> encode(const TensorView& samples) override {
        const auto size = static_cast<std::int64_t>(size_of(input_.dtype));
        TRICODEC_EXPECT(samples.shape.size() == 2 && samples.shape[0] == input_.num_channels &&
                            samples.dtype == input_.dtype && (samples.shape[1] < 2 || samples.strides_bytes[1] == size),
                        invalid_argument,
                        "the samples are " + describe(samples) + "; the encoder was made for " +
                            std::string(to_string(input_.dtype)) + " [" + std::to_string(input_.num_channels) +
                            ", samples] with the samples of a channel side by side");
        const ff::CallLog call_log;
        std::vector<const std::uint8_t*> planes(static_cast<std::size_t>(input_.num_channels));
        for (std::int64_t from = 0; from < samples.shape[1]; from += kSamplesAtOnce) {
            for (std::size_t channel = 0; channel < planes.size(); ++channel) {
                planes[channel] = static_cast<const std::uint8_t*>(samples.data) +
                                  static_cast<std::int64_t>(channel) * samples.strides_bytes[0] + from * size;
            }
            convert(planes.data(), static_cast<int>(std::min<std::int64_t>(kSamplesAtOnce, samples.shape[1] - from)));
            send_full_frames();
        }
        return std::exchange(packets_, {});
    }

    std::vector<Packet> flush() override {
        const ff::CallLog call_log;
        if (context_->sample_rate != input_.sample_rate) convert(nullptr, 0);
        send_full_frames();
        if (const int left = av_audio_fifo_size(fifo_.get()); left > 0) send(left);
        context_.send(nullptr);
        while (pull()) {
        }
        return std::exchange(packets_, {});
    }

private:
    /// The type of the input if the encoder accepts it, else the first type that the encoder accepts.
    static AVSampleFormat best_format(const std::vector<AVSampleFormat>& accepted, AVSampleFormat input) {
        if (accepted.empty()) return input;
        for (const auto each : accepted) {
            if (av_get_planar_sample_fmt(each) == input) return each;
        }
        return accepted.front();
    }

    void convert(const std::uint8_t** data, int count) {
        for (;;) {
            const int room = ff::check(swr_get_out_samples(conversion_.get(), count), "resampling");
            if (room == 0) return;
            const int converted = into_frame(room, [&](AVFrame& frame) {
                return swr_convert(conversion_.get(), frame.extended_data, room, data, count);
            });
            if (converted > 0) {
                ff::check(av_audio_fifo_write(fifo_.get(), reinterpret_cast<void**>(frame_->extended_data), converted),
                          "queuing samples");
            }
            if (data != nullptr || converted == 0) return;
        }
    }

    /// Fills frame_ with memory for `count` samples, then by `fill`.
    template <class Fill>
    int into_frame(int count, Fill fill) {
        av_frame_unref(frame_.get());
        frame_->format = context_->sample_fmt;
        frame_->sample_rate = context_->sample_rate;
        frame_->nb_samples = count;
        ff::check(av_channel_layout_copy(&frame_->ch_layout, &context_->ch_layout), "copying a channel layout");
        ff::check(av_frame_get_buffer(frame_.get(), 0), "allocating samples");
        return ff::check(fill(*frame_), "converting samples");
    }

    void send_full_frames() {
        while (av_audio_fifo_size(fifo_.get()) >= frame_size_) send(frame_size_);
    }

    void send(int count) {
        const StageScope scope(Stage::encode, 0);
        into_frame(count, [&](AVFrame& frame) {
            return av_audio_fifo_read(fifo_.get(), reinterpret_cast<void**>(frame.extended_data), count);
        });
        frame_->pts = next_pts_;
        next_pts_ += count;
        context_.send(frame_.get());
        while (pull()) {
        }
    }

    bool pull() {
        auto packet = context_.receive();
        if (!packet) return false;
        packets_.push_back(to_packet(std::move(packet), stream_.time_base));
        return true;
    }

    AudioInputForm input_;
    EncoderContext context_;
    StreamInfo stream_;
    SwrPtr conversion_;
    std::unique_ptr<AVAudioFifo, decltype([](AVAudioFifo* fifo) { av_audio_fifo_free(fifo); })> fifo_;
    ff::FramePtr frame_;
    int frame_size_ = 0;
    std::int64_t next_pts_ = 0;
    std::vector<Packet> packets_;
};

}  // namespace

std::unique_ptr<AudioEncoder> AudioEncoder::create(const AudioInputForm& input, const AudioEncoding& encoding) {
    return std::make_unique<AvAudioEncoder>(input, encoding);
}

TensorView sound_of(const TensorView& array, int sample_rate) {
    TRICODEC_EXPECT(sample_rate > 0, invalid_argument,
                    "audio_rate is " + std::to_string(sample_rate) + "; sound needs its rate in Hz, as 16000");
    TRICODEC_EXPECT(is_sound(array.dtype), invalid_argument,
                    "the sound is " + describe(array) + "; it must be float32 (-1 to 1) or int16");
    TensorView view = array;
    if (view.shape.size() == 1) {
        view.shape.insert(view.shape.begin(), 1);
        view.strides_bytes.insert(view.strides_bytes.begin(), view.strides_bytes[0] * view.shape[1]);
    }
    TRICODEC_EXPECT(
        view.shape.size() == 2 && view.shape[0] >= 1 && view.shape[0] <= kMostChannels, invalid_argument,
        "the sound is " + describe(array) + "; it must be [channels, samples] with 1 to 64 channels, or [samples]");
    return view;
}

}  // namespace tricodec
