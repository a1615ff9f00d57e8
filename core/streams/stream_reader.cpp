// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/stream_reader.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/stage_scope.h"
#include "media/container_policy.h"
#include "media/dictionary.h"
#include "media/input_context.h"
#include "media/picture_limits.h"
#include "streams/device_library.h"
#include "streams/source_decoder.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

using InputPtr = std::unique_ptr<InputContext>;

/// The demuxer that the caller named. The caller may name any demuxer that reads the given bytes, and none that opens
/// files by itself.
const AVInputFormat* find_format(const std::string& format) {
    const auto* found = av_find_input_format(format.c_str());
    TRICODEC_EXPECT(found != nullptr, invalid_argument,
                    "format '" + format +
                        "' is unknown; tricodec.io.ffmpeg_utils.get_demuxers() lists the accepted demuxers" +
                        " and get_input_devices() the devices");
    TRICODEC_EXPECT((found->flags & AVFMT_NOFILE) == 0, refused,
                    "format '" + format + "' opens files by itself, which is not allowed; pass each file alone");
    return found;
}

/// Finds the streams of an input that was just opened.
InputPtr describe(InputPtr input) {
    const ff::CallLog call_log;
    TRICODEC_EXPECT(input->unused_settings().empty(), invalid_argument,
                    "unexpected options " + input->unused_settings() + ": the demuxer '" + input->format_name() +
                        "' has none of these names");
    static_cast<void>(input->find_streams());  // nothing was read before
    for (const auto* stream : input->streams()) {
        const auto& parameters = *stream->codecpar;
        if (parameters.codec_type != AVMEDIA_TYPE_VIDEO) continue;
        PictureLimits().expect(parameters.width, parameters.height, "stream " + std::to_string(stream->index));
    }
    return input;
}

InputPtr open_source(const MediaSource& source, const StreamReaderOptions& options) {
    InputOptions input;
    input.any_media = true;
    input.settings = options.option;
    input.buffer_bytes = source.reopenable() ? 0 : options.buffer_size;
    if (!options.format.empty()) input.format = find_format(options.format);
    return describe(std::make_unique<InputContext>(source, std::move(input)));
}

InputPtr open_url(const std::string& url, const StreamReaderOptions& options) {
    InputOptions input;
    input.settings = options.option;
    if (!options.format.empty()) input.format = streams::find_input_device(options.format);
    if (input.format != nullptr) return describe(std::make_unique<InputContext>(url, "", std::move(input)));
    const auto protocol = protocol_of(url);
    const bool allowed = std::ranges::find(options.protocols, protocol) != options.protocols.end();
    TRICODEC_EXPECT(allowed && !protocol.empty(), refused,
                    "'" + url + "' is not opened: its protocol is not among those that are allowed (" +
                        (options.protocols.empty() ? "none" : joined(options.protocols)) +
                        "); pass protocols=[...], with those it is built on (https: https, tls, tcp)");
    if (!options.format.empty()) input.format = find_format(options.format);
    return describe(std::make_unique<InputContext>(url, joined(options.protocols), std::move(input)));
}

SourceStream describe_source(const AVStream& stream) {
    const auto& parameters = *stream.codecpar;
    SourceStream result;
    const char* type = av_get_media_type_string(parameters.codec_type);
    result.media_type = type == nullptr ? "unknown" : type;
    const auto* codec = avcodec_descriptor_get(parameters.codec_id);
    result.codec = codec == nullptr ? "none" : codec->name;
    if (codec != nullptr && codec->long_name != nullptr) result.codec_long_name = codec->long_name;
    result.metadata = Dictionary::to_map(stream.metadata);
    const bool video = parameters.codec_type == AVMEDIA_TYPE_VIDEO;
    const bool audio = parameters.codec_type == AVMEDIA_TYPE_AUDIO;
    if (!video && !audio) return result;
    const char* format = video ? av_get_pix_fmt_name(static_cast<AVPixelFormat>(parameters.format))
                               : av_get_sample_fmt_name(static_cast<AVSampleFormat>(parameters.format));
    result.format = format == nullptr ? "unknown" : format;
    result.bit_rate = parameters.bit_rate;
    if (stream.nb_frames > 0) result.num_frames = stream.nb_frames;
    result.bits_per_sample = parameters.bits_per_raw_sample;
    if (video) {
        result.width = parameters.width;
        result.height = parameters.height;
        result.frame_rate = stream.r_frame_rate.den == 0 ? 0 : av_q2d(stream.r_frame_rate);
    } else {
        result.sample_rate = parameters.sample_rate;
        result.num_channels = parameters.ch_layout.nb_channels;
    }
    return result;
}

class FilteringReader final : public StreamReader {
public:
    explicit FilteringReader(InputPtr input) : input_(std::move(input)), packet_(ff::make_packet()) {
        choose_packets();
    }

    int num_source_streams() const noexcept override { return static_cast<int>(input_->streams().size()); }
    int num_output_streams() const noexcept override { return static_cast<int>(outputs_.size()); }
    int default_audio_stream() const noexcept override { return input_->best(AVMEDIA_TYPE_AUDIO); }
    int default_video_stream() const noexcept override { return input_->best(AVMEDIA_TYPE_VIDEO); }
    std::map<std::string, std::string> metadata() const override {
        return Dictionary::to_map(input_->context().metadata);
    }

    SourceStream source_stream(int index) const override {
        TRICODEC_EXPECT(index >= 0 && index < num_source_streams(), out_of_range,
                        "source stream " + std::to_string(index) + " does not exist; '" + input_->name() + "' has " +
                            std::to_string(num_source_streams()));
        return describe_source(*input_->streams()[static_cast<std::size_t>(index)]);
    }
    OutputStream output_stream(int index) const override { return output(index).describe(); }

    void add_audio_stream(const OutputOptions& options) override { add(options, AVMEDIA_TYPE_AUDIO); }
    void add_video_stream(const OutputOptions& options) override { add(options, AVMEDIA_TYPE_VIDEO); }

    void remove_stream(int index) override {
        auto& removed = output(index);
        const int source = removed.source_index();
        if (decoders_.at(source)->remove(&removed)) {
            decoders_.erase(source);
        }
        outputs_.erase(outputs_.begin() + index);
        choose_packets();
    }

    void seek(double seconds, SeekMode mode) override {
        TRICODEC_EXPECT(std::isfinite(seconds) && seconds >= 0, invalid_argument,
                        "timestamp must be a number of seconds of at least 0, not " + std::to_string(seconds));
        constexpr double kMostSeconds = 4e12;  // libavformat adds to the microseconds without a check
        TRICODEC_EXPECT(seconds <= kMostSeconds, invalid_argument,
                        "timestamp is " + std::to_string(seconds) + " s; it must be at most 4e12");
        const auto time_us = std::llround(seconds * AV_TIME_BASE);
        const ff::CallLog call_log;
        // A time before the first key frame goes to the first packet.
        input_->seek(-1, time_us, AVSEEK_FLAG_BACKWARD | (mode == SeekMode::any ? AVSEEK_FLAG_ANY : 0),
                     std::to_string(static_cast<double>(time_us) / AV_TIME_BASE) + " s");
        ended_ = from_start_ = false;
        for (auto& [index, decoder] : decoders_) {
            decoder->reset(mode == SeekMode::precise ? std::optional(time_us) : std::nullopt);
        }
        keep_from_us_ = mode == SeekMode::precise ? std::optional(time_us) : std::nullopt;
        for (auto& each : outputs_) each->reset();
    }

    Status process_packet() override {
        if (ended_) return Status::end;
        const int code = read_packet();
        if (code == AVERROR(EAGAIN)) return Status::again;
        if (code == AVERROR_EOF) {
            ended_ = true;
            note_end();
            for (auto& [index, decoder] : decoders_) decoder->send(nullptr);
            if (!from_start_) return Status::end;  // reading may have begun after the last frame
            for (const auto& [index, decoder] : decoders_) decoder->expect_frames(input_->name());
            return Status::end;
        }
        began_ = true;
        const auto decoder = decoders_.find(packet_->stream_index);
        struct Unref {
            AVPacket* packet;
            ~Unref() { av_packet_unref(packet); }
        } const unref{packet_.get()};
        if (decoder != decoders_.end()) decoder->second->send(packet_.get());
        return Status::more;
    }

    bool is_buffer_ready() const noexcept override {
        return std::all_of(outputs_.begin(), outputs_.end(), [](const auto& each) { return each->chunks().ready(); });
    }

    std::vector<std::optional<StreamChunk>> pop_chunks() override {
        std::vector<std::optional<StreamChunk>> chunks;
        for (auto& each : outputs_) chunks.push_back(each->chunks().pop());
        return chunks;
    }

private:
    int read_packet() {
        const ff::CallLog call_log;
        StageScope scope(Stage::read, 1);
        const int code = input_->read(*packet_);
        if (code < 0) scope.set_num_frames(0);
        if (code != AVERROR_EOF && code != AVERROR(EAGAIN))
            input_->expect(code, "reading '" + input_->name() + "' failed");
        return code;
    }

    /// Logs, once, that the source was cut short; Note [Files cut short].
    void note_end() {
        if (std::exchange(end_noted_, true)) return;
        const auto why = input_->cut_short();
        if (!why.empty()) log(LogLevel::warning, "'" + input_->name() + "' ends early: " + why);
    }

    streams::StreamOutput& output(int index) const {
        TRICODEC_EXPECT(index >= 0 && index < num_output_streams(), out_of_range,
                        "output stream " + std::to_string(index) + " does not exist; this reader has " +
                            std::to_string(num_output_streams()));
        return *outputs_[static_cast<std::size_t>(index)];
    }

    int choose(const OutputOptions& options, AVMediaType type) const {
        const std::string kind = av_get_media_type_string(type);
        TRICODEC_EXPECT(options.stream_index >= -1, invalid_argument,
                        "stream_index is " + std::to_string(options.stream_index) +
                            "; it must be at least 0, or -1 for the best " + kind + " stream");
        if (options.stream_index < 0) {
            const int best = input_->best(type);
            TRICODEC_EXPECT(best >= 0, unsupported, "'" + input_->name() + "' has no " + kind + " stream");
            return best;
        }
        TRICODEC_EXPECT(options.stream_index < num_source_streams(), out_of_range,
                        "stream_index " + std::to_string(options.stream_index) + " is not in '" + input_->name() +
                            "', which has " + std::to_string(num_source_streams()) + " streams");
        const auto* stream = input_->streams()[static_cast<std::size_t>(options.stream_index)];
        TRICODEC_EXPECT(stream->codecpar->codec_type == type, invalid_argument,
                        "stream " + std::to_string(options.stream_index) + " is not " + kind);
        return options.stream_index;
    }

    void add(const OutputOptions& options, AVMediaType type) {
        const int index = choose(options, type);
        auto& stream = *input_->streams()[static_cast<std::size_t>(index)];
        TRICODEC_EXPECT(!options.hw_accel.empty() || stream.codecpar->format >= 0, corrupt_data,
                        "stream " + std::to_string(index) + " (" + avcodec_get_name(stream.codecpar->codec_id) +
                            ") of '" + input_->name() + "' has no packet that states the format of its frames");
        auto found = decoders_.find(index);
        const bool fresh = found == decoders_.end();
        if (fresh) {
            from_start_ = from_start_ && !began_;
            found = decoders_.try_emplace(index, streams::make_decoder(input_->context(), stream, options)).first;
            found->second->reset(keep_from_us_);
        } else {
            found->second->expect_compatible(options);
        }
        try {
            outputs_.push_back(std::make_unique<streams::StreamOutput>(found->second->frames(), options, index));
        } catch (...) {
            if (fresh) decoders_.erase(found);
            throw;
        }
        found->second->add(outputs_.back().get());
        choose_packets();
    }

    /// The demuxer skips streams that no output needs. Without any output, a call of process_packet() reads one packet
    /// of audio or video, as in torchaudio.
    void choose_packets() {
        for (auto* stream : input_->streams()) {
            const auto type = stream->codecpar->codec_type;
            const bool any = decoders_.empty() && (type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO);
            const bool wanted = any || decoders_.count(stream->index) != 0;
            stream->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
        }
    }

    InputPtr input_;
    std::map<int, std::unique_ptr<streams::SourceDecoder>> decoders_;  // by source stream
    std::vector<std::unique_ptr<streams::StreamOutput>> outputs_;
    ff::PacketPtr packet_;
    std::optional<std::int64_t> keep_from_us_;  // for decoders that are made after a precise seek
    bool ended_ = false;
    bool end_noted_ = false;
    bool began_ = false;
    bool from_start_ = true;  // every decoder gets all packets of its stream
};

}  // namespace

std::unique_ptr<StreamReader> StreamReader::open(const MediaSource& source, const StreamReaderOptions& options) {
    return std::make_unique<FilteringReader>(open_source(source, options));
}

std::unique_ptr<StreamReader> StreamReader::open(const std::string& url, const StreamReaderOptions& options) {
    return std::make_unique<FilteringReader>(open_url(url, options));
}

}  // namespace tricodec
