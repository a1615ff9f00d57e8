// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/stream_reader.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/stage_scope.h"
#include "base/suggestion.h"
#include "container/input_context.h"
#include "ffmpeg/dictionary.h"
#include "ffmpeg/picture_limits.h"
#include "io/container_policy.h"
#include "streams/device_library.h"
#include "streams/source_decoder.h"
#include "streams/stream_seek.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

constexpr double kSoundAhead = 1;  // seconds that are decoded before those that are wanted

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
                        (options.protocols.empty() ? "none" : listed(options.protocols, {}, ",")) +
                        "); pass protocols=[...], with those it is built on (https: https, tls, tcp)");
    if (!options.format.empty()) input.format = find_format(options.format);
    return describe(std::make_unique<InputContext>(url, listed(options.protocols, {}, ","), std::move(input)));
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
    /// `source`: what `input` reads, if it can be opened again and read without options.
    explicit FilteringReader(InputPtr input, std::optional<MediaSource> source = {})
        : input_(std::move(input)), source_(std::move(source)), packet_(ff::make_packet()) {
        choose_packets();
    }

    int num_source_streams() const noexcept override { return static_cast<int>(input_->streams().size()); }
    int num_output_streams() const noexcept override { return static_cast<int>(outputs_.size()); }
    int default_audio_stream() const noexcept override { return input_->best(AVMEDIA_TYPE_AUDIO); }
    int default_video_stream() const noexcept override { return input_->best_video(); }
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
        sought_ = {seconds, mode};
        go_to(*sought_);
        for (auto& each : outputs_) each->reset();
    }

    Status process_packet() override {
        if (ended_) return Status::end;
        if (sought_ && !is_placed_) go_to(*sought_);
        if (is_placed_) sought_.reset();
        const int code = next_packet();
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
    struct Seek {
        double seconds;
        SeekMode mode;
    };

    void go_to(const Seek& seek) {
        const ff::CallLog call_log;
        ended_ = from_start_ = false;
        waiting_.clear();
        // Which streams are read decides where reading begins.
        is_placed_ = !decoders_.empty() || !source_ || !input_->seekable() || seek.mode == SeekMode::any;
        skipped_ = nullptr;
        start_ = {};
        if (seek.mode == SeekMode::precise) start_.from_seconds = seek.seconds;
        if (!is_placed_) return;
        std::vector<int> videos;
        for (const auto& [index, decoder] : decoders_) {
            if (type_of(index) == AVMEDIA_TYPE_VIDEO) videos.push_back(index);
        }
        const bool by_number = seek.mode != SeekMode::any && videos.size() == 1;
        const auto* video = by_number ? index_of(videos.front()) : nullptr;
        const auto target =
            video == nullptr ? std::nullopt : std::optional(video->target(seek.seconds, seek.mode == SeekMode::key));
        for (auto& [index, decoder] : decoders_) {
            decoder->reset(target && index == videos.front() ? target->start : start_);
        }
        if (target) return go_to_packet(videos.front(), *video, target->packet, seek);
        // Codecs of sound need some packets before the first whole frame.
        const bool ahead = seek.mode == SeekMode::precise;
        if (ahead && !videos.empty()) return go_to_first(videos.front());
        const auto begin = input_->context().start_time;
        const bool near_start =
            begin != AV_NOPTS_VALUE && (seek.seconds - kSoundAhead) * AV_TIME_BASE <= static_cast<double>(begin);
        if (ahead && near_start && !decoders_.empty()) return go_to_first(decoders_.begin()->first);
        const auto time_us = std::llround(std::max(0.0, seek.seconds - (ahead ? kSoundAhead : 0)) * AV_TIME_BASE);
        // A time before the first key frame goes to the first packet.
        input_->seek(-1, time_us, AVSEEK_FLAG_BACKWARD | (seek.mode == SeekMode::any ? AVSEEK_FLAG_ANY : 0),
                     std::to_string(seek.seconds) + " s");
    }

    /// The frames of a video stream by number; null where they cannot be known, as of a device.
    const streams::StreamSeek* index_of(int stream) {
        if (!source_ || !input_->seekable()) return nullptr;
        const auto [found, fresh] = indexes_.try_emplace(stream);
        if (!fresh) return found->second.get();
        try {
            found->second = std::make_unique<streams::StreamSeek>(*source_, stream);
        } catch (const Error& error) {
            log(LogLevel::debug, "'" + input_->name() + "' is read from its start after a seek: " + error.what());
        }
        return found->second.get();
    }

    /// Continues so that `packet` is the first one of the stream that is decoded.
    void go_to_packet(int stream, const streams::StreamSeek& video, std::int64_t packet, const Seek& seek) {
        skipped_ = &video;
        skipped_stream_ = stream;
        first_decoded_ = packet;
        const bool sounds = decoders_.size() > 1 && seek.mode == SeekMode::precise;
        auto near = sounds ? video.entry_before(packet, seek.seconds - kSoundAhead) : packet;
        for (int attempt = 0; attempt < 3 && near > 0; ++attempt) {
            if (try_packet(video.index().packet(near))) return;
            near = video.entry_before(near - 1, seek.seconds);
        }
        go_to_first(stream);
    }

    void go_to_first(int stream) {
        waiting_.clear();
        next_number_ = 0;
        const bool by_bytes = seeks_by_bytes();
        input_->seek(by_bytes ? -1 : stream, by_bytes ? 0 : -ff::kFarthest,
                     by_bytes ? AVSEEK_FLAG_BYTE : AVSEEK_FLAG_BACKWARD, "its start");
    }

    /// Containers without an index, where libavformat would search by time stamps that need not rise.
    bool seeks_by_bytes() const {
        const auto name = input_->format_name();
        return is_elementary(name) || name == "mpegts" || name == "mpeg";
    }

    /// False if reading would begin after the packet that is to be decoded first.
    bool try_packet(const IndexedPacket& packet) {
        constexpr int kMostPackets = 300;  // until one is known
        waiting_.clear();
        const auto time = packet.pts == kNoTimestamp ? packet.dts : packet.pts;
        const bool by_bytes = seeks_by_bytes();
        if (by_bytes ? packet.pos < 0 : time == kNoTimestamp) return false;
        input_->seek(by_bytes ? -1 : skipped_stream_, by_bytes ? packet.pos : time,
                     by_bytes ? AVSEEK_FLAG_BYTE : AVSEEK_FLAG_BACKWARD, "time " + std::to_string(time));
        for (int i = 0; i < kMostPackets; ++i) {
            auto read = ff::make_packet();
            if (input_->read(*read) < 0) return false;
            const bool is_video = read->stream_index == skipped_stream_;
            Packet facts;
            facts.pts = read->pts;
            facts.pos = read->pos;
            facts.data = {reinterpret_cast<const std::byte*>(read->data), static_cast<std::size_t>(read->size)};
            const auto number = is_video ? skipped_->index().find_packet(facts) : -1;
            if (!is_video || number >= 0) waiting_.push_back(std::move(read));
            if (number > first_decoded_) return false;
            if (number < 0) continue;
            next_number_ = number;
            return true;
        }
        return false;
    }

    AVMediaType type_of(int stream) const {
        return input_->streams()[static_cast<std::size_t>(stream)]->codecpar->codec_type;
    }

    /// The next packet that is decoded.
    int next_packet() {
        for (;;) {
            if (!waiting_.empty()) {
                av_packet_move_ref(packet_.get(), waiting_.front().get());
                waiting_.pop_front();
            } else if (const int code = read_packet(); code < 0) {
                return code;
            }
            if (skipped_ == nullptr || packet_->stream_index != skipped_stream_) return 0;
            if (next_number_++ >= first_decoded_) return 0;
            av_packet_unref(packet_.get());
        }
    }

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
            const int best = type == AVMEDIA_TYPE_VIDEO ? input_->best_video() : input_->best(type);
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
            found->second->reset(start_);
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
        is_placed_ = false;
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
    std::optional<MediaSource> source_;
    std::map<int, std::unique_ptr<streams::SourceDecoder>> decoders_;  // by source stream
    std::vector<std::unique_ptr<streams::StreamOutput>> outputs_;
    ff::PacketPtr packet_;
    std::map<int, std::unique_ptr<streams::StreamSeek>> indexes_;  // by source stream
    streams::StreamStart start_;                                   // for decoders that are made after a precise seek
    std::optional<Seek> sought_;                                   // since the last packet
    bool is_placed_ = false;                                       // there, for the streams that are read
    std::deque<ff::PacketPtr> waiting_;                            // read while seeking
    const streams::StreamSeek* skipped_ = nullptr;                 // of the stream that is not decoded from here on
    int skipped_stream_ = -1;
    std::int64_t first_decoded_ = 0;  // number of a packet of that stream
    std::int64_t next_number_ = 0;    // of its next packet
    bool ended_ = false;
    bool end_noted_ = false;
    bool began_ = false;
    bool from_start_ = true;  // every decoder gets all packets of its stream
};

}  // namespace

std::unique_ptr<StreamReader> StreamReader::open(const MediaSource& source, const StreamReaderOptions& options) {
    const bool plain = source.reopenable() && options.format.empty() && options.option.empty();
    return std::make_unique<FilteringReader>(open_source(source, options),
                                             plain ? std::optional(source) : std::nullopt);
}

std::unique_ptr<StreamReader> StreamReader::open(const std::string& url, const StreamReaderOptions& options) {
    return std::make_unique<FilteringReader>(open_url(url, options));
}

}  // namespace tricodec
