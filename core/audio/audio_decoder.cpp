// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_decoder.h"

#include <utility>

#include "audio/audio_frames.h"
#include "audio/resampler.h"
#include "base/stage_scope.h"
#include "media/packet.h"
#include "media/samples.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

Tensor samples_of(const AVFrame& frame) {
    const auto format = static_cast<AVSampleFormat>(frame.format);
    const auto dtype = sample_dtype(format);
    TRICODEC_EXPECT(dtype.has_value(), unsupported, "the codec gives samples of a type that has no tensor");
    const std::int64_t num_channels = frame.ch_layout.nb_channels;
    Tensor samples = Tensor::empty({num_channels, frame.nb_samples}, *dtype);
    const auto bytes = static_cast<std::int64_t>(size_of(*dtype));
    const bool is_planar = av_sample_fmt_is_planar(format) != 0;
    const std::int64_t step = is_planar ? bytes : num_channels * bytes;
    auto* to = static_cast<std::byte*>(samples.view.data);
    for (std::int64_t channel = 0; channel < num_channels; ++channel, to += bytes * frame.nb_samples) {
        const auto* from = is_planar ? frame.extended_data[channel] : frame.extended_data[0] + channel * bytes;
        copy_elements(size_of(*dtype), reinterpret_cast<const std::byte*>(from), step, to, bytes, frame.nb_samples);
    }
    return samples;
}

class AvAudioDecoder final : public AudioDecoder {
public:
    explicit AvAudioDecoder(const StreamInfo& stream)
        : decoder_(audio_decoder_setup(stream, "the source")), packet_(ff::make_packet()), frame_(ff::make_frame()) {}

    std::vector<RawSamples> decode(const Packet& packet) override {
        if (packet.data.empty()) return {};  // an empty packet would mean the end to libavcodec
        const ff::CallLog call_log;
        const StageScope scope(Stage::decode, 0);
        fill_av_packet(*packet_, packet);
        std::vector<RawSamples> samples;
        const int code = decoder_.send(packet_.get(), [&] { return receive(samples); });
        av_packet_unref(packet_.get());
        expect_no_damage(code);
        receive_all(samples);
        return samples;
    }

    std::vector<RawSamples> flush() override {
        const ff::CallLog call_log;
        std::vector<RawSamples> samples;
        static_cast<void>(decoder_.send(nullptr, [&] { return receive(samples); }));
        receive_all(samples);
        return samples;
    }

    void reset() override { decoder_.flush(); }

private:
    void receive_all(std::vector<RawSamples>& samples) {
        while (receive(samples)) {
        }
    }

    bool receive(std::vector<RawSamples>& samples) {
        av_frame_unref(frame_.get());
        const int code = decoder_.receive(*frame_);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return false;
        expect_no_damage(code);
        if (frame_->nb_samples == 0) return true;
        RawSamples given;
        given.data = samples_of(*frame_);
        if (frame_->best_effort_timestamp != AV_NOPTS_VALUE) given.pts = frame_->best_effort_timestamp;
        given.sample_rate = frame_->sample_rate;
        samples.push_back(std::move(given));
        return true;
    }

    static void expect_no_damage(int code) {
        if (code >= 0) return;
        const auto kind = ff::damage_code(code);
        fail(kind, "the packet cannot be decoded: " + ff::damage_text(code, kind) +
                       "; leave it out and continue with the next one");
    }

    DecoderContext decoder_;
    ff::PacketPtr packet_;
    ff::FramePtr frame_;
};

}  // namespace

std::unique_ptr<AudioDecoder> AudioDecoder::create(const StreamInfo& stream) {
    return std::make_unique<AvAudioDecoder>(stream);
}

}  // namespace tricodec
