// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>

#include "audio/audio_frames.h"
#include "audio/resampler.h"
#include "audio/sample_clock.h"
#include "audio/sample_window.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
// Samples that are kept after they were read, for reads that overlap.
constexpr std::int64_t kHistoryBytes = std::int64_t{8} << 20;
// Decoding so far ahead is cheaper than a seek.
constexpr std::int64_t kDecodeOnSeconds = 10;
constexpr std::int64_t kFarthestSample = std::int64_t{1} << 50;

bool is_pcm(const StreamInfo& stream) {
    const auto id = stream.parameters->codec_id;
    return id >= AV_CODEC_ID_PCM_S16LE && id < AV_CODEC_ID_ADPCM_IMA_QT;
}

void check_options(const AudioReaderOptions& options) {
    TRICODEC_EXPECT(options.sample_rate >= 0, invalid_argument,
                    "sample_rate is " + std::to_string(options.sample_rate) +
                        "; it must be a rate in Hz, as 16000, or 0 for the stream's own");
    constexpr int kMostChannels = 64;  // of libswresample
    TRICODEC_EXPECT(options.num_channels >= 0 && options.num_channels <= kMostChannels, invalid_argument,
                    "num_channels is " + std::to_string(options.num_channels) +
                        "; it must be 1 (mono), 2 (stereo) or another number up to 64, or 0 for the stream's own");
    TRICODEC_EXPECT(options.dtype == DType::float32 || options.dtype == DType::int16, invalid_argument,
                    "dtype '" + std::string(to_string(options.dtype)) + "' of sound is not one of int16, float32");
}

/// Note [Seeking in sound]: the rates meet every `in` samples of the stream, which are `out` samples of the result.
/// A conversion that begins at such a place gives the samples of one that began at the start, after the length of its
/// filter. With more phases than libswresample's table has, its rounding depends on where the calls begin.
struct Ratio {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t filter = 0;  ///< samples of the stream that a conversion must have before its first good one

    Ratio() = default;
    Ratio(int from, int to) {
        const auto common = std::gcd(from, to);
        in = from / common;
        out = to / common;
        // libswresample's defaults: 32 taps, a cutoff of 0.97.
        if (in != out) filter = 2 * std::llround(std::ceil(32 / std::min(1.0, 0.97 * to / from)));
    }
    [[nodiscard]] bool is_in_table() const noexcept { return out <= 1024; }
    [[nodiscard]] std::int64_t to_in(std::int64_t sample) const {
        return av_rescale_rnd(sample, in, out, AV_ROUND_DOWN);
    }
    [[nodiscard]] std::int64_t to_out(std::int64_t sample) const {
        return av_rescale_rnd(sample, out, in, AV_ROUND_UP);
    }
};

class Reader final : public AudioReader {
public:
    Reader(const MediaSource& source, const AudioReaderOptions& options)
        : options_(options),
          frames_(source, {.stream_index = options.stream_index, .ignore_edit_list = options.ignore_edit_list}),
          stream_(frames_.stream()),
          clock_(0, 1),
          resampler_(0, ChannelLayout(), options.dtype),
          window_(1, options.dtype) {
        // The first frame, because headers may state half the rate, or no priming.
        const AVFrame* first = frames_.next();
        expect_samples(first != nullptr);
        stream_rate_ = first->sample_rate;
        const ChannelLayout of_stream(first->ch_layout);
        const bool mixed = options.num_channels > 0 && options.num_channels != of_stream.num_channels();
        const ChannelLayout layout = mixed ? ChannelLayout(options.num_channels) : of_stream;
        layout_name_ = layout.name();
        sample_rate_ = options.sample_rate > 0 ? options.sample_rate : stream_rate_;
        num_channels_ = layout.num_channels();
        ratio_ = Ratio(stream_rate_, sample_rate_);
        first_pts_ = first->pts;
        clock_ = SampleClock(first_pts_ == kNoTimestamp ? 0.0 : seconds_of(first_pts_), sample_rate_);
        resampler_ = Resampler(sample_rate_, layout, options.dtype);
        window_ = SampleWindow(num_channels_, options.dtype);
        push(*first);
    }

    const MediaInfo& info() const noexcept override { return frames_.info(); }
    const StreamInfo& stream() const noexcept override { return stream_; }
    int sample_rate() const noexcept override { return sample_rate_; }
    int num_channels() const noexcept override { return num_channels_; }
    DType dtype() const noexcept override { return options_.dtype; }
    const std::string& channel_layout() const noexcept override { return layout_name_; }
    double start_seconds() const noexcept override { return clock_.start_seconds(); }
    std::int64_t sample_at(double seconds) const override {
        TRICODEC_EXPECT(std::isfinite(seconds), invalid_argument,
                        "the time " + number_text(seconds) + " s is not accepted; use a finite number");
        return clock_.sample_at(seconds);
    }
    std::vector<DecodeIssue> issues() const override { return frames_.issues(); }
    std::int64_t num_damaged_packets() const noexcept override { return frames_.num_damaged_packets(); }

    std::int64_t num_samples() override {
        while (!num_samples_) {
            window_.drop_before(window_.end() - history());
            advance();
        }
        return *num_samples_;
    }

    AudioSamples read(std::int64_t start, std::int64_t count) override {
        TRICODEC_EXPECT(count >= -1, invalid_argument,
                        "count is " + std::to_string(count) + "; it must be a number of samples, or -1 for all");
        if (start < 0) start = std::max<std::int64_t>(0, num_samples() + std::max(start, -kFarthestSample));
        auto samples = gather(start, count < 0 || start > kEnd - count ? kEnd : start + count);
        TRICODEC_EXPECT(!num_samples_ || start <= *num_samples_, out_of_range,
                        "sample " + std::to_string(start) + " does not exist; '" + info().name + "' has " +
                            std::to_string(*num_samples_) + " samples at " + std::to_string(sample_rate_) + " Hz");
        return samples;
    }

    AudioSamples read_seconds(std::optional<double> start, std::optional<double> end) override {
        TRICODEC_EXPECT(!start || !end || *start <= *end, invalid_argument,
                        "the time from start_s = " + std::to_string(start.value_or(0)) +
                            " s to end_s = " + std::to_string(end.value_or(0)) + " s is empty; end_s must be later");
        for (;;) {
            const auto known = clock_.num_stretches();
            const auto from = start ? sample_at(*start) : 0;
            auto samples = gather(from, end ? sample_at(*end) : kEnd);
            if (count_from_start() || clock_.num_stretches() != known) continue;  // the time stamps jump on the way
            TRICODEC_EXPECT(!num_samples_ || from <= *num_samples_, out_of_range,
                            "start_s is " + number_text(start.value_or(0)) + " s; the sound of '" + info().name +
                                "' is from " + number_text(start_seconds()) + " s to " +
                                number_text(clock_.seconds_of(num_samples_.value_or(0))) + " s");
            return samples;
        }
    }

    std::int64_t num_samples_of(double start, double end) const override {
        TRICODEC_EXPECT(std::isfinite(start) && std::isfinite(end) && start <= end, invalid_argument,
                        "the time from " + std::to_string(start) + " s to " + std::to_string(end) +
                            " s is not accepted; both must be finite, and the end not before the start");
        return clock_.place_of(end) - clock_.place_of(start);
    }

    AudioSamples read_padded(double start, double end) override {
        const auto count = num_samples_of(start, end);
        AudioSamples samples;
        samples.data = Tensor::empty({num_channels_, count}, options_.dtype);
        samples.sample_rate = sample_rate_;
        samples.start = clock_.place_of(start);
        samples.pts_seconds = start_seconds() + static_cast<double>(samples.start) / sample_rate_;
        auto* out = static_cast<std::byte*>(samples.data.view.data);
        const auto size = static_cast<std::int64_t>(size_of(options_.dtype));
        std::memset(out, 0, static_cast<std::size_t>(num_channels_ * count * size));
        for (;;) {
            const auto known = clock_.num_stretches();
            const auto from = clock_.sample_at(start);
            const auto there = gather(from, std::max(from, clock_.sample_at(end)));
            if (count_from_start() || clock_.num_stretches() != known) continue;  // the time stamps jump on the way
            const auto given = there.data.view.shape[1];
            const auto at = std::clamp<std::int64_t>(clock_.place_of(there.pts_seconds) - samples.start, 0, count);
            const auto fits = std::min(given, count - at);
            for (std::int64_t channel = 0; fits > 0 && channel < num_channels_; ++channel) {
                std::memcpy(out + (channel * count + at) * size,
                            static_cast<const std::byte*>(there.data.view.data) + channel * given * size,
                            static_cast<std::size_t>(fits * size));
            }
            return samples;
        }
    }

private:
    [[nodiscard]] double seconds_of(std::int64_t pts) const {
        return static_cast<double>(pts) * stream_.time_base.to_double();
    }
    [[nodiscard]] std::int64_t history() const noexcept { return kHistoryBytes / window_.sample_bytes(); }

    /// Throws unless the stream has samples.
    void expect_samples(bool there) const {
        if (there) return;
        const auto issues = frames_.issues();
        fail(ErrorCode::corrupt_data, "stream " + std::to_string(stream_.index) + " (" + stream_.codec_name + ") of '" +
                                          info().name + "' has no samples" +
                                          (issues.empty() ? ": it has no packets" : ": " + issues.front().message));
    }

    AudioSamples gather(std::int64_t start, std::int64_t end) {
        if (num_samples_) end = std::min(end, *num_samples_);
        if (start < end) go_to(start);
        const auto most = limits().max_output_bytes / window_.sample_bytes();
        while (start < end && window_.end() < end && !at_end_) {
            window_.drop_before(std::min(start, window_.end()) - history());
            const auto held = std::min(window_.end(), end) - start;
            TRICODEC_EXPECT(held <= most, refused,
                            "the samples from " + std::to_string(start) +
                                " on take more than "
                                "limits.max_output_bytes = " +
                                std::to_string(limits().max_output_bytes) +
                                "; read fewer at a time, or raise the limit");
            advance();
        }
        const auto stop = std::min(end, window_.end());
        AudioSamples samples;
        samples.start = start;
        samples.sample_rate = sample_rate_;
        samples.pts_seconds = clock_.seconds_of(start);
        samples.data = start < stop ? window_.take(start, stop, stop - history())
                                    : Tensor::empty({num_channels_, 0}, options_.dtype);
        return samples;
    }

    /// Makes the window begin at or before a sample, or be decoded on to it.
    void go_to(std::int64_t sample) {
        const bool behind = sample < window_.begin();
        const bool far = sample - window_.end() > kDecodeOnSeconds * sample_rate_;
        if (!behind && !far) return;
        if (seek_to(sample) || !behind) return;
        restart();
    }

    void restart() {
        frames_.restart();
        resampler_.reset();
        window_.reset(0);
        position_ = 0;
        skip_ = 0;
        sought_ = at_end_ = false;
    }

    /// True if the time stamps jump after a seek: only a read from the start tells which samples are where.
    [[nodiscard]] bool count_from_start() {
        if (!jumps_ || !sought_) return false;
        restart();
        return true;
    }

    /// See Note [Seeking in sound]. False if the place is near the start or cannot be sought, which changes nothing. A
    /// seek that leads elsewhere is undone by a restart.
    bool seek_to(std::int64_t sample) {
        if (!can_seek() || sample > kFarthestSample) return false;
        const auto wanted = ratio_.to_in(sample) - ratio_.filter - preroll();
        if (wanted <= ratio_.in) return false;
        const auto pts = first_pts_ + av_rescale_q(wanted - ratio_.in, {1, stream_rate_}, unit());
        const AVFrame* first = frames_.seek(pts) ? frames_.next() : nullptr;
        at_end_ = false;
        const auto at = first == nullptr || first->pts == AV_NOPTS_VALUE
                            ? kEnd
                            : av_rescale_q(first->pts - first_pts_, unit(), {1, stream_rate_});
        const auto aligned = at == kEnd ? kEnd : (at + ratio_.in - 1) / ratio_.in * ratio_.in;
        if (first == nullptr || first->sample_rate != stream_rate_ || at < 0 || aligned > wanted) {
            restart();
            return true;
        }
        position_ = at;
        skip_ = aligned - at;
        sought_ = true;
        resampler_.reset();
        window_.reset(aligned / ratio_.in * ratio_.out);
        push(*first);
        window_.drop_before(ratio_.to_out(aligned + ratio_.filter + preroll()));
        return true;
    }

    [[nodiscard]] AVRational unit() const noexcept { return ff::to_av(stream_.time_base); }

    [[nodiscard]] bool can_seek() const {
        if (first_pts_ == kNoTimestamp || !frames_.seekable() || jumps_) return false;
        if (options_.seek == AudioSeek::approximate) return true;
        // Time stamps count samples there, and no packet can be damaged.
        const std::string_view format = info().format_name;
        return is_pcm(stream_) && ratio_.is_in_table() && stream_.time_base == Rational{1, stream_rate_} &&
               (format == "wav" || format == "w64" || format.starts_with("mov"));
    }

    /// Samples that a codec decodes before they are those of the whole stream, or nearly.
    [[nodiscard]] std::int64_t preroll() const {
        if (is_pcm(stream_)) return 0;
        const auto* codec = avcodec_descriptor_get(stream_.parameters->codec_id);
        if (codec != nullptr && (codec->props & AV_CODEC_PROP_LOSSY) == 0) return 0;
        const int frame = stream_.parameters->frame_size;
        return frame > 0 ? std::int64_t{4} * frame : stream_rate_;
    }

    /// Decodes one more frame.
    void advance() {
        check_interrupt();
        if (at_end_) return;
        if (const AVFrame* frame = frames_.next()) return push(*frame);
        resampler_.end(window_);
        at_end_ = true;
        if (!num_samples_) num_samples_ = window_.end();
    }

    void push(const AVFrame& frame) {
        if (!sought_ && frame.pts != AV_NOPTS_VALUE && first_pts_ != kNoTimestamp && position_ > noted_) {
            noted_ = position_;
            clock_.note(ratio_.to_out(position_), seconds_of(frame.pts));
            jumps_ = clock_.num_stretches() > 1;
        }
        if (sought_ && frame.pts != AV_NOPTS_VALUE) {
            const double expected = seconds_of(first_pts_) + static_cast<double>(position_) / stream_rate_;
            jumps_ = jumps_ || std::abs(seconds_of(frame.pts) - expected) > SampleClock::kJumpSeconds;
        }
        position_ += frame.nb_samples;
        const auto skipped = std::min<std::int64_t>(skip_, frame.nb_samples);
        skip_ -= skipped;
        if (skipped < frame.nb_samples) resampler_.push(frame, static_cast<int>(skipped), window_);
    }

    AudioReaderOptions options_;
    AudioFrames frames_;
    StreamInfo stream_;
    int stream_rate_ = 0;
    int sample_rate_ = 0;
    int num_channels_ = 0;
    std::string layout_name_;
    Ratio ratio_;
    std::int64_t first_pts_ = kNoTimestamp;
    SampleClock clock_;
    Resampler resampler_;
    SampleWindow window_;
    std::int64_t position_ = 0;  // of the next frame, in samples of the stream
    std::int64_t skip_ = 0;      // samples to leave out before the conversion begins
    std::int64_t noted_ = 0;     // as far as the clock knows the time stamps
    bool sought_ = false;        // since the start
    bool jumps_ = false;         // the time stamps, somewhere
    bool at_end_ = false;
    std::optional<std::int64_t> num_samples_;
};

}  // namespace

std::unique_ptr<AudioReader> AudioReader::open(const MediaSource& source, const AudioReaderOptions& options) {
    check_options(options);
    return std::make_unique<Reader>(source, options);
}

}  // namespace tricodec
