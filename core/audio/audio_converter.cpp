// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_converter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "audio/sample_window.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::int64_t kSamplesAtOnce = 1 << 20;

AVSampleFormat planar_format_of(const TensorView& samples) {
    switch (samples.dtype) {
        case DType::uint8:
            return AV_SAMPLE_FMT_U8P;
        case DType::int16:
            return AV_SAMPLE_FMT_S16P;
        case DType::int32:
            return AV_SAMPLE_FMT_S32P;
        case DType::int64:
            return AV_SAMPLE_FMT_S64P;
        case DType::float32:
            return AV_SAMPLE_FMT_FLTP;
        case DType::float64:
            return AV_SAMPLE_FMT_DBLP;
        default:
            fail(ErrorCode::invalid_argument, "the samples are " + describe(samples) +
                                                  "; they must be uint8, int16, int32, int64, float32 or float64");
    }
}

std::string text(const SampleForm& form) {
    return std::to_string(form.layout.num_channels()) + " channels of " + av_get_sample_fmt_name(form.format) + " at " +
           std::to_string(form.sample_rate) + " Hz";
}

class SwrAudioConverter final : public AudioConverter {
public:
    SwrAudioConverter(int sample_rate, int num_channels) : sample_rate_(sample_rate), num_channels_(num_channels) {}

    Tensor convert(const TensorView& samples, int sample_rate) override {
        TRICODEC_EXPECT(
            samples.shape.size() == 2 && samples.shape[0] > 0 && samples.is_contiguous() &&
                samples.device.kind == Device::Kind::cpu,
            invalid_argument,
            "the samples are " + describe(samples) + "; they must be contiguous [channels, samples] on the cpu");
        TRICODEC_EXPECT(sample_rate > 0, invalid_argument,
                        "the rate of the samples is " + std::to_string(sample_rate) + "; it must be at least 1 Hz");
        const SampleForm form{sample_rate, planar_format_of(samples),
                              ChannelLayout(static_cast<int>(samples.shape[0]))};
        if (!stream_) {
            stream_.emplace(form, sample_rate_ == 0 ? sample_rate : sample_rate_,
                            num_channels_ == 0 ? form.layout : ChannelLayout(num_channels_));
        }
        TRICODEC_EXPECT(form == stream_->form, invalid_argument,
                        "the samples are " + text(form) + ", and those before were " + text(stream_->form) +
                            "; call reset() to convert another stream");
        const auto size = static_cast<std::int64_t>(size_of(samples.dtype));
        std::vector<const std::uint8_t*> planes(static_cast<std::size_t>(samples.shape[0]));
        for (std::int64_t from = 0; from < samples.shape[1]; from += kSamplesAtOnce) {
            for (std::size_t channel = 0; channel < planes.size(); ++channel) {
                planes[channel] = static_cast<const std::uint8_t*>(samples.data) +
                                  static_cast<std::int64_t>(channel) * samples.strides_bytes[0] + from * size;
            }
            const auto count = std::min(kSamplesAtOnce, samples.shape[1] - from);
            stream_->resampler.push(form, planes.data(), static_cast<int>(count), stream_->window);
        }
        return take();
    }

    Tensor drain() override {
        TRICODEC_EXPECT(stream_, invalid_argument, "nothing was converted, so that there is nothing to drain");
        stream_->resampler.end(stream_->window);
        return take();
    }

    void reset() override { stream_.reset(); }

private:
    struct Stream {
        Stream(const SampleForm& from, int sample_rate, const ChannelLayout& layout)
            : form(from),
              resampler(sample_rate, layout, DType::float32),
              window(layout.num_channels(), DType::float32) {}

        SampleForm form;
        Resampler resampler;
        SampleWindow window;
    };

    Tensor take() {
        auto& window = stream_->window;
        return window.take(window.begin(), window.end(), window.end());
    }

    int sample_rate_;
    int num_channels_;
    std::optional<Stream> stream_;
};

}  // namespace

std::unique_ptr<AudioConverter> AudioConverter::create(int sample_rate, int num_channels) {
    TRICODEC_EXPECT(sample_rate >= 0 && num_channels >= 0, invalid_argument,
                    "sound of " + std::to_string(sample_rate) + " Hz and " + std::to_string(num_channels) +
                        " channels does not exist; use positive numbers, or 0 for what is given");
    return std::make_unique<SwrAudioConverter>(sample_rate, num_channels);
}

}  // namespace tricodec
