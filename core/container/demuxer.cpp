// SPDX-License-Identifier: Apache-2.0
#include "tricodec/container/demuxer.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/stage_scope.h"
#include "base/suggestion.h"
#include "bitstream/annexb.h"
#include "bitstream/stream_headers.h"
#include "container/hdr_metadata.h"
#include "container/input_context.h"
#include "container/listed_packets.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/picture_limits.h"
#include "ffmpeg/stream_info.h"
#include "io/container_policy.h"
#include "tricodec/base/log.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

bool is_video(const AVStream* stream) {
    return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
           (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
}

class AvDemuxer final : public Demuxer {
public:
    AvDemuxer(const MediaSource& source, const DemuxerOptions& options)
        : options_(options), input_(source, input_options(options)) {
        const ff::CallLog call_log;
        describe();
        select_stream(source.name());
        if (options_.annexb) {
            filter_.emplace(*input_.streams()[stream_]);
            // A decoder for these packets needs the headers in the packets' own form.
            if (auto rewritten = filter_->parameters()) info_.streams[stream_].parameters = std::move(rewritten);
        }
    }

    const MediaInfo& info() const noexcept override { return info_; }
    const StreamInfo& stream() const noexcept override { return info_.streams[stream_]; }
    bool seekable() const noexcept override { return input_.seekable(); }
    const std::string& ends_early() const noexcept override { return ends_early_; }

    std::optional<Packet> read() override {
        const ff::CallLog call_log;
        if (!filter_) return read_packet();
        for (;;) {
            if (auto packet = filter_->pop()) return to_packet(std::move(packet), stream().time_base);
            if (at_end_) return std::nullopt;
            auto packet = next();
            if (!packet) {
                at_end_ = true;
                filter_->push_end();
            } else if (static_cast<std::size_t>(packet->stream_index) == stream_) {
                filter_->push(std::move(packet));
            } else {
                // Read before the packet is moved: arguments may be evaluated in any order.
                const auto time_base = info_.streams[static_cast<std::size_t>(packet->stream_index)].time_base;
                return to_packet(std::move(packet), time_base);
            }
        }
    }

    void seek(std::int64_t pts) override {
        const ff::CallLog call_log;
        input_.seek(static_cast<int>(stream_), std::clamp(pts, -ff::kFarthest, ff::kFarthest), AVSEEK_FLAG_BACKWARD,
                    "time " + std::to_string(pts));
        begin_again();
    }

    void seek_bytes(std::int64_t position) override {
        const ff::CallLog call_log;
        TRICODEC_EXPECT(position >= 0, invalid_argument,
                        "position is " + std::to_string(position) + "; pass a packet's pos, at least 0");
        TRICODEC_EXPECT((input_.context().iformat->flags & AVFMT_NO_BYTE_SEEK) == 0, unsupported,
                        "'" + info_.name +
                            "' cannot seek by bytes, because its packets are found by an index; seek to a time "
                            "instead");
        input_.seek(-1, position, AVSEEK_FLAG_BYTE, "byte " + std::to_string(position));
        begin_again();
    }

    std::int64_t num_bytes_read() const noexcept override { return input_.num_bytes_read(); }
    bool fetches_ahead() const override { return input_.reader()->fetches_ahead(); }
    void will_read(std::span<const ByteRange> ranges) override { input_.reader()->will_read(ranges); }
    void will_read_on() override { input_.reader()->will_read_on(); }

    std::vector<ListedPacket> listed_packets(bool predicts) override {
        if (filter_ || options_.all_streams) return {};
        return list_packets(input_, *input_.streams()[stream_], predicts);
    }
    std::vector<ListedPacket> packets_of(std::span<const ByteRange> gops) override {
        return list_clusters(input_, *input_.streams()[stream_], gops);
    }

private:
    static InputOptions input_options(const DemuxerOptions& options) {
        InputOptions input;
        if (options.ignore_edit_list) input.settings["ignore_editlist"] = "1";
        input.any_media = options.kind == StreamKind::audio;
        return input;
    }

    void describe() {
        if (!options_.thorough && (!tell_all_headers() || has_choice())) {
            // avformat_find_stream_info needs the packets that were read ahead.
            read_ahead_.clear();
            input_.open_again();
        }
        if (input_.find_streams()) read_ahead_.clear();
        if (input_.context().max_ts_probe == 0) find_starts();
        // The size of a source that is read in order is not known yet, even if its end was near.
        info_ = describe_media(input_.context(), input_.name(), seekable() ? input_.size_bytes().value_or(-1) : -1);
        for (std::size_t i = 0; i < info_.streams.size(); ++i)
            read_hdr_metadata(*input_.streams()[i], info_.streams[i]);
        info_.best_video = input_.best_video();
        info_.best_audio = input_.best(AVMEDIA_TYPE_AUDIO);
    }

    /// See Note [Opening without decoding]. False if packets were read ahead in vain.
    bool tell_all_headers() {
        read_ahead([](const AVStream* each) { return needs_packet_headers(*each); });
        bool told = true;
        bool in_vain = false;
        for (AVStream* each : input_.streams()) {
            const auto* packet = read_ahead_of(*each);
            tell_headers(*each, packet == nullptr ? Bytes{}
                                                  : Bytes{reinterpret_cast<const std::byte*>(packet->data),
                                                          static_cast<std::size_t>(packet->size)});
            const bool open = each->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !knows_pictures(*each);
            told = told && !open;
            in_vain = in_vain || (open && !read_ahead_.empty());
        }
        // Otherwise libavformat reads packets, and decodes H.264, only to find the starts; one packet is enough.
        if (told) input_.context().max_ts_probe = 0;
        return !in_vain;
    }

    /// True if a video stream is to be chosen of several, which libavformat does by what their first packets tell.
    bool has_choice() const {
        if (options_.kind != StreamKind::video || options_.stream_index >= 0) return false;
        return std::ranges::count_if(input_.streams(), is_video) > 1;
    }

    /// Reads until every stream that `wants` it has given a packet; next() gives them again.
    template <class Wants>
    void read_ahead(Wants wants) {
        constexpr std::size_t kMostPackets = 32;
        const auto waits = [&](const AVStream* each) { return wants(each) && read_ahead_of(*each) == nullptr; };
        while (read_ahead_.size() < kMostPackets && std::ranges::any_of(input_.streams(), waits)) {
            auto packet = ff::make_packet();
            if (input_.read(*packet) < 0) break;  // next() meets the error again and reports it
            read_ahead_.push_back(std::move(packet));
        }
    }

    /// A stream starts with its first packet, as in avformat_find_stream_info.
    void find_starts() {
        std::vector<AVStream*> untimed;
        std::ranges::copy_if(input_.streams(), std::back_inserter(untimed), [](const AVStream* each) {
            return each->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && each->start_time == AV_NOPTS_VALUE;
        });
        read_ahead([&](const AVStream* each) { return std::ranges::find(untimed, each) != untimed.end(); });
        for (AVStream* each : untimed) {
            const auto* packet = read_ahead_of(*each);
            if (packet == nullptr || packet->pts == AV_NOPTS_VALUE) continue;
            each->start_time = packet->pts;
            each->duration = AV_NOPTS_VALUE;  // of the file, for lack of a start
            const auto start = av_rescale_q(packet->pts, each->time_base, AV_TIME_BASE_Q);
            auto& first = input_.context().start_time;
            if (first == AV_NOPTS_VALUE || start < first) first = start;
        }
    }

    /// The first packet of a stream that was read ahead, or null.
    const AVPacket* read_ahead_of(const AVStream& stream) const {
        const auto found = std::find_if(read_ahead_.begin(), read_ahead_.end(),
                                        [&](const auto& read) { return read->stream_index == stream.index; });
        return found == read_ahead_.end() ? nullptr : found->get();
    }

    void select_stream(const std::string& name) {
        const auto& streams = info_.streams;
        TRICODEC_EXPECT(!streams.empty(), corrupt_data,
                        "'" + name + "' holds no streams: its headers are damaged, or it was never finished");
        const auto num_streams = static_cast<std::int64_t>(streams.size());
        TRICODEC_EXPECT(
            options_.stream_index >= -1 && options_.stream_index < num_streams, invalid_argument,
            "stream_index " + std::to_string(options_.stream_index) + " is not in '" + name + "', which has " +
                (num_streams == 1 ? "1 stream (0"
                                  : std::to_string(num_streams) + " streams (0.." + std::to_string(num_streams - 1)) +
                "); -1 is the best " + std::string(to_string(options_.kind)) + " stream");
        stream_ = static_cast<std::size_t>(options_.stream_index >= 0 ? options_.stream_index : best(name));
        const auto& chosen = streams[stream_];
        if (chosen.kind == StreamKind::video) PictureLimits().expect(chosen.width, chosen.height, "the video");
        if (!options_.all_streams) {
            for (AVStream* each : input_.streams()) {
                each->discard = static_cast<std::size_t>(each->index) == stream_ ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
            }
        }
    }

    /// The number of the stream that is read if none is named.
    int best(const std::string& name) const {
        const int best = options_.kind == StreamKind::audio ? info_.best_audio : info_.best_video;
        if (best >= 0) return best;
        const bool sound =
            options_.kind == StreamKind::audio &&
            std::ranges::any_of(info_.streams, [](const StreamInfo& each) { return each.kind == StreamKind::audio; });
        fail(
            ErrorCode::unsupported,
            "'" + name + "' has no " + std::string(to_string(options_.kind)) + " stream" +
                (sound ? " with sound: the headers of those that it lists state no rate or channels, and no packet does"
                       : "") +
                "; its streams are " + list_of_streams());
    }

    std::string list_of_streams() const {
        return listed(info_.streams, [](const StreamInfo& each) {
            return std::to_string(each.index) + ": " + std::string(to_string(each.kind)) + " " + each.codec_name;
        });
    }

    std::optional<Packet> read_packet() {
        StageScope scope(Stage::read, 1);
        auto packet = next();
        if (!packet) {
            scope.set_num_frames(0);
            return std::nullopt;
        }
        AVStream* stream = input_.streams()[static_cast<std::size_t>(packet->stream_index)];
        if (info_.format_name.starts_with("mov,")) complete_last_duration(*stream, *packet);
        return to_packet(std::move(packet), ff::to_rational(stream->time_base));
    }

    /// libavformat counts for how long the last sample of a track is shown as if the track began at time 0.
    static void complete_last_duration(AVStream& stream, AVPacket& packet) {
        const auto* first = avformat_index_get_entry(&stream, 0);
        const bool is_last =
            first != nullptr && packet.duration > 0 && stream.duration == av_sat_add64(packet.dts, packet.duration);
        if (is_last && first->timestamp > 0) packet.duration = av_sat_add64(packet.duration, first->timestamp);
    }

    int read_frame(ff::PacketPtr& packet) {
        if (read_ahead_.empty()) return input_.read(*packet);
        packet = std::move(read_ahead_.front());
        read_ahead_.pop_front();
        return 0;
    }

    ff::PacketPtr next() {
        auto packet = ff::make_packet();
        for (;;) {
            const int code = read_frame(packet);
            if (code == AVERROR(EAGAIN)) continue;
            if (code < 0) {
                // The packets before are intact. A truncated or damaged tail ends the stream; it is reported, not
                // thrown.
                note_end(code);
                return nullptr;
            }
            // Streams that appear later in the file are not described; they are left out.
            const auto index = static_cast<std::size_t>(packet->stream_index);
            if (index < info_.streams.size() && (options_.all_streams || index == stream_)) {
                is_empty_ = false;
                last_is_incomplete_ = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
                return packet;
            }
            av_packet_unref(packet.get());
        }
    }

    /// `code` is the result of libavformat at the end. See Note [Files cut short].
    void note_end(int code) {
        if (end_noted_) return;
        const auto kind = input_.code_of(code);
        TRICODEC_EXPECT(kind != ErrorCode::out_of_memory, out_of_memory,
                        "no memory is left to read '" + info_.name + "'");
        end_noted_ = true;
        const bool transport =
            info_.format_name == "mpegts";  // it marks packets as corrupt if their stated size differs
        ends_early_ = input_.cut_short();
        if (ends_early_.empty() && code != AVERROR_EOF) ends_early_ = ff::damage_text(code, kind);
        if (ends_early_.empty() && last_is_incomplete_ && !transport) ends_early_ = "its last packet is incomplete";
        if (is_empty_ && stream().kind == StreamKind::video) return note_empty();
        if (!ends_early_.empty() && !options_.silent_end) {
            log(LogLevel::warning, "'" + info_.name + "' ends early: " + ends_early_);
        }
    }

    /// A video without a packet is an error here, because no later step knows why there are no frames.
    void note_empty() {
        std::string why = ends_early_;
        const auto* stream = input_.streams()[stream_];
        const auto* sample = avformat_index_get_entry(const_cast<AVStream*>(stream), 0);
        const auto size_bytes = input_.size_bytes();
        const bool hidden = why.empty() && sample == nullptr && stream->nb_frames > 0 && !options_.ignore_edit_list &&
                            info_.format_name.starts_with("mov,");
        if (hidden && options_.silent_end) return;
        if (hidden) fail(ErrorCode::unsupported, all_hidden_text(info_.name, stream->nb_frames));
        const bool elsewhere = why.empty() && sample != nullptr && (!size_bytes || sample->pos < *size_bytes);
        if (elsewhere) {
            why =
                "its samples are in another file, and a media file cannot open another one; pass the file that has "
                "them";
        }
        ends_early_ = "stream " + std::to_string(stream_) + " (" + info_.streams[stream_].codec_name +
                      ") has no packets" + (why.empty() ? "" : ": " + why);
        if (options_.silent_end) return;
        fail(elsewhere ? ErrorCode::unsupported : ErrorCode::corrupt_data, "'" + info_.name + "': " + ends_early_);
    }

    /// After a seek.
    void begin_again() {
        at_end_ = is_empty_ = false;  // there may be no packet after the target of the seek
        read_ahead_.clear();
        if (filter_) filter_->reset();
    }

    DemuxerOptions options_;
    InputContext input_;
    std::deque<ff::PacketPtr> read_ahead_;  // read while opening, given before any other
    MediaInfo info_;
    std::size_t stream_ = 0;
    std::optional<ElementaryStreamFilter> filter_;
    bool at_end_ = false;
    bool is_empty_ = true;             // as far as was read from the start
    bool last_is_incomplete_ = false;  // as far as libavformat knows
    bool end_noted_ = false;
    std::string ends_early_;
};

}  // namespace

std::unique_ptr<Demuxer> Demuxer::open(const MediaSource& source, const DemuxerOptions& options) {
    return std::make_unique<AvDemuxer>(source, options);
}

namespace {

/// Most containers do not say on what display HDR was graded, but the first picture's messages do.
void find_hdr_metadata(Demuxer& demuxer, MediaInfo& info) {
    constexpr int kMostPackets = 64;
    std::vector<StreamInfo*> open;
    for (auto& stream : info.streams) {
        if (!is_hdr(stream.color.transfer) || (stream.mastering_display && stream.content_light)) continue;
        if (stream.codec != CodecId::av1) read_hdr_metadata(extradata_of(stream.parameters.get()), stream);
        if (!stream.mastering_display || !stream.content_light) open.push_back(&stream);
    }
    for (int i = 0; i < kMostPackets && !open.empty(); ++i) {
        const auto packet = demuxer.read();
        if (!packet) return;
        const auto found = std::ranges::find(open, packet->stream_index, &StreamInfo::index);
        if (found == open.end()) continue;
        read_hdr_metadata(packet->data, **found);
        open.erase(found);
    }
}

}  // namespace

MediaInfo probe(const MediaSource& source) {
    DemuxerOptions options;
    options.all_streams = true;
    options.thorough = true;
    options.stream_index = 0;  // a file without video is described, not refused
    const auto demuxer = Demuxer::open(source, options);
    MediaInfo info = demuxer->info();
    find_hdr_metadata(*demuxer, info);
    return info;
}

}  // namespace tricodec
