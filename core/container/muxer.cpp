// SPDX-License-Identifier: Apache-2.0
#include "tricodec/container/muxer.h"

extern "C" {
#include <libavutil/dict.h>
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/stage_scope.h"
#include "container/hdr_metadata.h"
#include "ffmpeg/avio.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/dictionary.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/fork.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

using MuxContextPtr = std::unique_ptr<AVFormatContext, decltype([](AVFormatContext* c) { avformat_free_context(c); })>;

const AVOutputFormat& find_format(const std::string& name) {
    const AVOutputFormat* format = find_container(name);
    TRICODEC_EXPECT(format != nullptr, invalid_argument,
                    "the container '" + name +
                        "' is unknown; accepted are libavformat's names: mp4, mov, matroska (mkv), webm, mpegts "
                        "(ts), ivf, avi, nut, flv, ogg, h264, hevc, obu, ...");
    // These open files and devices by themselves, but a muxer has one target.
    TRICODEC_EXPECT((format->flags & AVFMT_NOFILE) == 0, refused,
                    "the container '" + name +
                        "' writes several files or to a device, which is not supported; use mp4, mov, matroska, webm, "
                        "mpegts, ivf or a codec's own name");
    return *format;
}

bool is_mov_family(std::string_view format) noexcept {
    return format == "mp4" || format == "mov" || format == "ipod" || format == "3gp" || format == "3g2" ||
           format == "psp" || format == "ismv" || format == "f4v";
}

class AvMuxer final : public Muxer {
public:
    AvMuxer(const MediaTarget& target, const MuxerOptions& options)
        : name_(target.name()),
          options_(options),
          format_(find_format(options.format.empty() ? container_of(target.name()) : options.format)),
          format_name_(format_.name) {
        ff::install_log();
        const ff::CallLog call_log;
        expect_options();
        io_.emplace(target.open());
        AVFormatContext* context = nullptr;
        ff::check(avformat_alloc_output_context2(&context, &format_, nullptr, name_.c_str()), "making a muxer");
        context_.reset(context);
        context->pb = io_->context();
        // The same packets make the same bytes: no random identifiers (matroska), no version of libavformat's.
        context->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
        context->opaque = this;
        context->io_open = open_again;
        context->io_close2 = close_again;
        for (const auto& [key, value] : options.metadata)
            av_dict_set(&context->metadata, key.c_str(), value.c_str(), 0);
        for (const auto& chapter : options.chapters) add_chapter(chapter);
    }

    int add_stream(const StreamInfo& stream) override {
        mark_.expect_not_in_child("this Muxer");
        const ff::CallLog call_log;
        TRICODEC_EXPECT(!header_written_ && !ended_, invalid_argument,
                        "streams are added before the first packet is written");
        TRICODEC_EXPECT(stream.parameters != nullptr && stream.time_base.known() && stream.time_base.num > 0,
                        invalid_argument,
                        "the stream needs codec parameters and a time base, as Demuxer, Encoder and describe_stream() "
                        "give them");
        const AVCodecID codec = stream.parameters->codec_id;
        TRICODEC_EXPECT(holds(format_, codec), unsupported,
                        "'" + format_name_ + "' cannot contain " + avcodec_get_name(codec) +
                            "; use another container (matroska accepts nearly every codec)" +
                            (stream.kind == StreamKind::audio ? ", or encode the sound (audio_codec)" : ""));
        AVStream* added = avformat_new_stream(context_.get(), nullptr);
        TRICODEC_EXPECT(added != nullptr, out_of_memory, "could not allocate a stream");
        ff::check(avcodec_parameters_copy(added->codecpar, stream.parameters.get()), "copying codec parameters");
        added->codecpar->codec_tag = tag_for(codec, stream.parameters->codec_tag);
        added->time_base = ff::to_av(stream.time_base);
        if (stream.kind == StreamKind::video) describe_pictures(stream, *added);
        if (!stream.language.empty()) av_dict_set(&added->metadata, "language", stream.language.c_str(), 0);
        if (!stream.title.empty()) av_dict_set(&added->metadata, "title", stream.title.c_str(), 0);
        added->disposition = stream.disposition;
        if (stream.attached_picture) added->disposition |= AV_DISPOSITION_ATTACHED_PIC;
        time_bases_.push_back(stream.time_base);
        return added->index;
    }

    void start() override {
        mark_.expect_not_in_child("this Muxer");
        if (header_written_) return;
        // libavformat has freed what it began with, and reads it if it begins again.
        TRICODEC_EXPECT(!header_failed_, invalid_argument,
                        "'" + name_ + "' could not be started before; make another Muxer");
        const ff::CallLog call_log;
        if (is_mov_family(format_name_)) {
            TRICODEC_EXPECT(options_.fragmented || io_->writer().seekable() || options_.options.contains("movflags"),
                            unsupported,
                            "'" + name_ + "' cannot seek, which " + format_name_ +
                                " needs for its index; use fragmented=True, another container (matroska, mpegts), or "
                                "write to a file or to memory");
        }
        TRICODEC_EXPECT(!options_.fast_start || (io_->writer().seekable() && io_->writer().readable()), unsupported,
                        "'" + name_ +
                            "' cannot be read back, which fast_start needs; write to a file or to memory, or give the "
                            "object read(), or use fragmented=True");
        Dictionary settings;
        for (const auto& [key, value] : options_.options) settings.set(key.c_str(), value);
        if (options_.fragmented) settings.append("movflags", "+frag_keyframe+empty_moov+default_base_moof");
        if (options_.fast_start && is_mov_family(format_name_)) settings.append("movflags", "+faststart");
        if (options_.fast_start && !is_mov_family(format_name_)) settings.set("cues_to_front", "1");
        header_failed_ = true;
        const int code = avformat_write_header(context_.get(), &settings.entries);
        io_->rethrow();
        if (code < 0) {
            fail(code == AVERROR(EINVAL) ? ErrorCode::invalid_argument : ff::error_code(code),
                 "cannot start '" + name_ + "' as " + format_name_ + ": " + ff::error_text(code));
        }
        header_failed_ = false;
        header_written_ = true;
        settings.expect_used("the container '" + format_name_ + "'");
    }

    void write(const Packet& packet, int stream) override {
        const ff::CallLog call_log;
        TRICODEC_EXPECT(!ended_, invalid_argument, "the file is finished; make another Muxer to write more");
        TRICODEC_EXPECT(stream >= 0 && static_cast<std::size_t>(stream) < time_bases_.size(), invalid_argument,
                        "stream " + std::to_string(stream) + " was not added; there are " +
                            std::to_string(time_bases_.size()) + " streams");
        start();
        if (waits_for_video(packet, stream)) return;
        fill_av_packet(*packet_, packet);
        packet_->stream_index = stream;
        packet_->pos = -1;
        const auto unit = unit_of(packet, stream);
        if (lift_seconds_.value_or(0.0) > 0.0) {
            const auto lift = std::llround(std::min(*lift_seconds_ / unit.to_double(), 0x1p62));
            if (packet_->pts != AV_NOPTS_VALUE) packet_->pts = av_sat_add64(packet_->pts, lift);
            if (packet_->dts != AV_NOPTS_VALUE) packet_->dts = av_sat_add64(packet_->dts, lift);
        }
        const AVStream& out = *context_->streams[stream];
        av_packet_rescale_ts(packet_.get(), ff::to_av(unit), out.time_base);
        expect_countable(packet.pts, packet_->pts, "pts");
        expect_countable(packet.dts, packet_->dts, "dts");
        expect_countable(packet.duration, packet_->duration, "duration");
        if (is_mov_family(format_name_)) {
            if (packet_->size == 0) return;  // libavformat leaves it out, but counts its time
            expect_storable(*packet_, stream);
        }
        const auto dts = packet_->dts;
        const auto pts = packet_->pts;
        const int code = [&] {
            const StageScope scope(Stage::write, 1);
            return av_interleaved_write_frame(context_.get(), packet_.get());  // takes the packet
        }();
        io_->rethrow();
        if (code == AVERROR(EINVAL)) {
            fail(ErrorCode::invalid_argument, "'" + name_ + "' cannot take a packet of stream " +
                                                  std::to_string(stream) + " with pts " + text_of(pts) + ", dts " +
                                                  text_of(dts) + ": " + ff::error_text(code) +
                                                  "; packets come in decoding order, with increasing dts");
        }
        ff::check(code, "writing a packet to '" + name_ + "'");
    }

    void finish() override {
        if (finished_) return;
        mark_.expect_not_in_child("this Muxer");
        const ff::CallLog call_log;
        TRICODEC_EXPECT(!ended_, io, "'" + name_ + "' could not be finished before; write it again");
        TRICODEC_EXPECT(!time_bases_.empty(), invalid_argument, "'" + name_ + "' has no stream; add one first");
        start();
        write_waiting();
        ended_ = true;
        const int code = av_write_trailer(context_.get());
        avio_flush(io_->context());
        io_->rethrow();
        ff::check(code, "finishing '" + name_ + "'");
        io_->writer().finish();
        finished_ = true;
    }

    const std::string& format() const noexcept override { return format_name_; }
    bool wants_global_headers() const noexcept override { return (format_.flags & AVFMT_GLOBALHEADER) != 0; }

private:
    /// FFmpeg's rescaling gives "none" for what does not fit.
    void expect_countable(std::int64_t given, std::int64_t rescaled, const char* what) const {
        const bool none = given == kNoTimestamp && rescaled == AV_NOPTS_VALUE;
        TRICODEC_EXPECT(none || (rescaled >= -ff::kFarthest && rescaled <= ff::kFarthest), invalid_argument,
                        std::string(what) + " is " + std::to_string(given) +
                            "; in the units of the stream it must be from -2^62 to 2^62");
    }

    [[nodiscard]] Rational unit_of(const Packet& packet, int stream) const {
        return packet.time_base.known() ? packet.time_base : time_bases_[static_cast<std::size_t>(stream)];
    }

    /// mp4 and mov hide what is shown before time 0. If the video begins there, all streams are moved by as much, which
    /// is known with its first packet. True for a packet that is written after that one. Sound alone is left as it is:
    /// the samples before 0 are those with which an encoder begins.
    bool waits_for_video(const Packet& packet, int stream) {
        if (lift_seconds_ || !is_mov_family(format_name_)) return false;
        const auto is_video = [&](int number) {
            return context_->streams[number]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
        };
        const auto time = packet.pts != kNoTimestamp ? packet.pts : packet.dts;
        const bool before_zero = time >= -ff::kFarthest && time < 0;  // others are refused
        if (is_video(stream)) {
            lift_seconds_ =
                before_zero && !packet.discard ? -static_cast<double>(time) * unit_of(packet, stream).to_double() : 0.0;
            write_waiting();
            return false;
        }
        bool video = false;
        for (std::size_t i = 0; i < time_bases_.size(); ++i) video = video || is_video(static_cast<int>(i));
        if (!video || (!before_zero && waiting_.empty())) return false;
        auto& [kept, number] = waiting_.emplace_back(packet, stream);
        if (!packet.owner) {
            const Packet copy = Packet::copy(packet.data);
            kept.data = copy.data;
            kept.owner = copy.owner;
        }
        return true;
    }

    void write_waiting() {
        if (!lift_seconds_) lift_seconds_ = 0.0;
        for (const auto& [packet, stream] : std::exchange(waiting_, {})) write(packet, stream);
    }

    /// mp4 and mov store times between packets in 31 bits, and libavformat ends the process if one does not fit or is
    /// negative. A packet without time stamps follows the one before by one unit, as libavformat mostly does it.
    void expect_storable(AVPacket& packet, int stream) {
        constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
        auto& last = last_times_[stream];
        if (packet.dts == AV_NOPTS_VALUE && packet.pts == AV_NOPTS_VALUE) packet.dts = last.any ? *last.any + 1 : 0;
        const auto time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
        TRICODEC_EXPECT(time >= -kLargest, invalid_argument,
                        "dts is " + text_of(time) + "; " + format_name_ + " takes times from -2^31 units on");
        TRICODEC_EXPECT(packet.dts == AV_NOPTS_VALUE || !last.dts || packet.dts >= *last.dts, invalid_argument,
                        "dts is " + text_of(packet.dts) + " after " + text_of(*last.dts) +
                            "; packets come in decoding order, with increasing dts");
        TRICODEC_EXPECT(!last.any || time - *last.any < kLargest, invalid_argument,
                        "dts is " + text_of(time) + " after " + text_of(*last.any) + "; " + format_name_ +
                            " takes less than 2^31 units from packet to packet");
        TRICODEC_EXPECT(
            packet.duration < kLargest, invalid_argument,
            "duration is " + std::to_string(packet.duration) + "; " + format_name_ + " takes less than 2^31 units");
        if (!last.any && options_.fragmented) expect_near_start(time, stream);
        if (packet.dts != AV_NOPTS_VALUE) last.dts = packet.dts;
        last.any = last.any ? std::max(*last.any, time) : time;
    }

    /// The first time of a stream, which the fragments count from that of the first stream.
    void expect_near_start(std::int64_t time, int stream) {
        const AVRational units = context_->streams[stream]->time_base;
        if (!start_) start_ = {time, units};
        const auto start = av_rescale_q(start_->first, start_->second, units);
        constexpr double kLargest = std::numeric_limits<std::int32_t>::max();
        const double distance = std::abs(static_cast<double>(time) - static_cast<double>(start));  // not to overflow
        TRICODEC_EXPECT(start != AV_NOPTS_VALUE && distance < kLargest, invalid_argument,
                        "stream " + std::to_string(stream) + " begins at " + text_of(time) + ", the first one at " +
                            text_of(start) + " in the same units; fragments of " + format_name_ +
                            " take less than 2^31 units between them");
    }

    void add_chapter(const Chapter& chapter) {
        constexpr AVRational kUnit{1, 1000000};
        const auto units = [&](double seconds) { return std::llround(seconds / av_q2d(kUnit)); };
        // libavformat frees the chapters of a context, and has no function that makes one.
        auto* made = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
        auto& list = context_->chapters;
        if (made == nullptr ||
            av_dynarray_add_nofree(&list, reinterpret_cast<int*>(&context_->nb_chapters), made) < 0) {
            av_free(made);
            fail(ErrorCode::out_of_memory, "could not allocate a chapter");
        }
        made->id = context_->nb_chapters;
        made->time_base = kUnit;
        made->start = units(chapter.start_seconds);
        made->end = units(chapter.end_seconds);
        if (!chapter.title.empty()) av_dict_set(&made->metadata, "title", chapter.title.c_str(), 0);
    }

    static std::string text_of(std::int64_t timestamp) {
        return timestamp == AV_NOPTS_VALUE ? "unknown" : std::to_string(timestamp);
    }

    void expect_options() const {
        TRICODEC_EXPECT(!(options_.fast_start && options_.fragmented), invalid_argument,
                        "fast_start and fragmented exclude each other: fragments need no index at the front");
        TRICODEC_EXPECT(!options_.fragmented || is_mov_family(format_name_), invalid_argument,
                        "'" + format_name_ + "' has no fragments; mp4 and mov have them");
        TRICODEC_EXPECT(
            !options_.fast_start || is_mov_family(format_name_) || format_name_ == "matroska" || format_name_ == "webm",
            invalid_argument,
            "'" + format_name_ + "' has no index to put in front; mp4, mov, matroska and webm have one");
    }

    /// The tag that the stream had, if it means the same codec in this container.
    unsigned tag_for(AVCodecID codec, unsigned tag) const {
        if (format_.codec_tag == nullptr) return tag;
        if (av_codec_get_id(format_.codec_tag, tag) == codec) return tag;
        // Apple's players refuse HEVC in mp4 with the default tag "hev1", although nothing else differs.
        if (codec == AV_CODEC_ID_HEVC && is_mov_family(format_name_)) return MKTAG('h', 'v', 'c', '1');
        return 0;
    }

    static void describe_pictures(const StreamInfo& stream, AVStream& added) {
        if (stream.average_frame_rate.num > 0) added.avg_frame_rate = ff::to_av(stream.average_frame_rate);
        if (stream.real_frame_rate.num > 0) added.r_frame_rate = ff::to_av(stream.real_frame_rate);
        if (stream.sample_aspect_ratio.num > 0) {
            added.sample_aspect_ratio = added.codecpar->sample_aspect_ratio = ff::to_av(stream.sample_aspect_ratio);
        }
        if (stream.orientation != Orientation{}) ff::set_display_matrix(added, stream.orientation);
        write_hdr_metadata(stream, added);
    }

    /// A muxer may only read its own output again, to move it. Nothing else is ever opened.
    static int open_again(AVFormatContext* context, AVIOContext** opened, const char*, int flags, AVDictionary**) {
        auto& me = *static_cast<AvMuxer*>(context->opaque);
        if ((flags & AVIO_FLAG_WRITE) != 0 || !me.io_->writer().readable()) return AVERROR(EPERM);
        *opened = me.io_->open_for_reading();
        return *opened == nullptr ? AVERROR(ENOMEM) : 0;
    }
    static int close_again(AVFormatContext*, AVIOContext* opened) {
        AvioWriter::close(opened);
        return 0;
    }

    ForkMark mark_;  // a child shares the position in the file with its parent
    std::string name_;
    MuxerOptions options_;
    const AVOutputFormat& format_;
    std::string format_name_;
    std::optional<AvioWriter> io_;
    MuxContextPtr context_;  // freed before io_
    ff::PacketPtr packet_ = ff::make_packet();
    std::vector<Rational> time_bases_;
    struct LastTimes {
        std::optional<std::int64_t> dts;
        std::optional<std::int64_t> any;  // dts, or else pts
    };
    std::map<int, LastTimes> last_times_;                       // of each stream's packets so far
    std::optional<std::pair<std::int64_t, AVRational>> start_;  // the first time of the first packet, and its units
    std::optional<double> lift_seconds_;                        // added to all times, once it is known
    std::vector<std::pair<Packet, int>> waiting_;               // for the first packet of video, with their streams
    bool header_written_ = false;
    bool header_failed_ = false;
    bool ended_ = false;     // finish() was called
    bool finished_ = false;  // and did its work
};

}  // namespace

std::unique_ptr<Muxer> Muxer::open(const MediaTarget& target, const MuxerOptions& options) {
    return std::make_unique<AvMuxer>(target, options);
}

std::string container_of(const std::string& name) {
    const AVOutputFormat* format = av_guess_format(nullptr, name.c_str(), nullptr);
    TRICODEC_EXPECT(format != nullptr, invalid_argument,
                    "the name '" + name +
                        "' has no known extension; use .mp4, .mov, .mkv, .webm, .ts, .ivf, .h264, .hevc, .wav or "
                        "another one of FFmpeg's, or name the format (format=\"mp4\")");
    return format->name;
}

bool wants_global_headers(const std::string& format) {
    return (find_format(format).flags & AVFMT_GLOBALHEADER) != 0;
}

StreamInfo describe_stream(CodecId codec, int width, int height, Rational time_base,
                           std::span<const std::byte> headers) {
    TRICODEC_EXPECT(width > 0 && height > 0, invalid_argument,
                    "the stream has " + size_text(width, height) + " pixels; pass a positive width and height");
    ff::ParametersPtr parameters(avcodec_parameters_alloc());
    TRICODEC_EXPECT(parameters != nullptr, out_of_memory, "could not allocate codec parameters");
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = to_av(codec);
    TRICODEC_EXPECT(parameters->codec_id != AV_CODEC_ID_NONE, invalid_argument,
                    "the stream has no codec; pass the name of one");
    parameters->width = width;
    parameters->height = height;
    if (!headers.empty()) {
        parameters->extradata = static_cast<std::uint8_t*>(av_mallocz(headers.size() + AV_INPUT_BUFFER_PADDING_SIZE));
        TRICODEC_EXPECT(parameters->extradata != nullptr, out_of_memory, "could not allocate codec headers");
        std::memcpy(parameters->extradata, headers.data(), headers.size());
        parameters->extradata_size = static_cast<int>(headers.size());
    }
    StreamInfo info;
    info.kind = StreamKind::video;
    info.codec = codec;
    info.codec_name = std::string(to_string(codec));
    info.width = width;
    info.height = height;
    info.time_base = time_base;
    info.parameters = ff::share(std::move(parameters));
    return info;
}

}  // namespace tricodec
