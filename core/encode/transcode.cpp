// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode/transcode.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "encode/packet_copier.h"
#include "encode/sound_transcoder.h"
#include "encode/transcode_part.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/text.h"
#include "tricodec/base/thread_pool.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

constexpr std::string_view kKeepHdrMetadata[] = {"mp4", "mov", "matroska", "mkv", "webm"};
constexpr double kPartSeconds = 10.0;  // of a part at least: short ones cost rate control and key frames

PartPlan plan_whole(const StreamInfo& video, const TranscodeOptions& options, const std::string& container) {
    PartPlan plan;
    plan.stream_index = video.index;
    plan.pictures = settle_pictures(video, options, container);
    plan.deinterlace = options.deinterlace;
    return plan;
}

struct FramesInRange {
    VideoTimes times;  ///< of all frames of the video
    std::int64_t first = 0;
    std::int64_t end = 0;

    /// When a frame begins by the playback clock; or when the video ends.
    [[nodiscard]] double seconds_of(std::int64_t frame) const {
        const auto clock = times.clock();
        const auto i = static_cast<std::size_t>(frame);
        return i < clock.size() ? clock[i] : times.clock_end();
    }
};

/// The frames that begin in the range of time that the options name.
FramesInRange frames_in_range(FrameReader& reader, const TranscodeOptions& options) {
    reader.expect_frames();
    FramesInRange result{.times = reader.video_times()};
    const auto clock = result.times.clock();
    const double unit = reader.stream().time_base.to_double();
    const auto range = "the range from " + number_text(options.start_seconds.value_or(0)) + " s to " +
                       (options.end_seconds ? number_text(*options.end_seconds) + " s" : "the end");
    const auto first_at = [&](const std::optional<double>& seconds, std::int64_t otherwise) {
        if (!seconds) return otherwise;
        const bool accepted = std::isfinite(*seconds) && (*seconds >= 0 || clock.front() < 0);
        TRICODEC_EXPECT(accepted, invalid_argument,
                        "the time " + number_text(*seconds) + " s is not accepted; the video begins at " +
                            number_text(clock.front()) + " s");
        // People write times with six digits, or as the nearest double.
        const double slack = std::max(unit / 2, 1e-6);
        return std::ranges::lower_bound(clock, *seconds - slack) - clock.begin();
    };
    if (options.start_seconds && options.end_seconds) {
        TRICODEC_EXPECT(*options.start_seconds < *options.end_seconds, invalid_argument,
                        range + " is empty; end must be after start");
    }
    result.first = first_at(options.start_seconds, 0);
    result.end = first_at(options.end_seconds, static_cast<std::int64_t>(clock.size()));
    TRICODEC_EXPECT(result.first < result.end, invalid_argument,
                    "no frame of '" + reader.info().name + "' begins in " + range + "; the frames begin from " +
                        number_text(clock.front()) + " s to " + number_text(clock.back()) + " s");
    return result;
}

/// Parts of about the same length that begin at key frames.
std::vector<PartPlan> split(FrameReader& reader, const PartPlan& whole, const FramesInRange& frames, int num_workers) {
    std::vector<PartPlan> parts{whole};
    parts.front().num_frames = frames.end - frames.first;
    const double rate = whole.pictures.encoder.frame_rate.to_double();
    const auto length = std::max<std::int64_t>(std::llround(kPartSeconds * rate),
                                               (frames.end - frames.first) / (std::int64_t{4} * num_workers));
    if (num_workers > 1) {
        for (const auto key : reader.key_frames()) {
            auto& current = parts.back();
            if (key < current.first_frame + length || key >= frames.end) continue;
            PartPlan next = current;
            current.num_frames = key - current.first_frame;
            next.first_frame = key;
            next.num_frames = frames.end - key;
            parts.push_back(std::move(next));
        }
    }
    const double unit = reader.stream().time_base.to_double();
    const auto place = [&](std::int64_t i) { return std::llround(frames.seconds_of(i) / unit); };
    for (auto& part : parts) {
        const auto end = part.first_frame + part.num_frames;
        part.first_place = place(part.first_frame);
        if (end < static_cast<std::int64_t>(frames.times.pts_seconds.size())) part.end_place = place(end);
        part.known_index = reader.frame_index();
        if (parts.size() > 1 && part.pictures.encoder.num_threads == 0)
            part.pictures.encoder.num_threads = std::max(1, available_cores() / num_workers);
    }
    return parts;
}

/// Decoding times of one stream that several encoders made, each of which began to count from zero.
///
/// In decoding order the i-th packet may be decoded when the picture that is `depth` places before it in order of
/// presentation is shown, which is what encoders write themselves.
class DecodingTimes {
public:
    DecodingTimes(int depth, std::int64_t frame_duration) : depth_(depth), duration_(frame_duration) {}

    void set(Packet& packet) {
        shown_.push(packet.pts);
        if (static_cast<int>(shown_.size()) > depth_) {
            packet.dts = shown_.top();
            shown_.pop();
        } else {
            if (number_ == 0) first_ = packet.pts;
            packet.dts = first_ - (depth_ - number_) * duration_;
        }
        if (number_ > 0) packet.dts = std::max(packet.dts, last_ + 1);
        last_ = packet.dts;
        ++number_;
    }

private:
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> shown_;
    int depth_;
    std::int64_t duration_;
    std::int64_t number_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
};

/// Where a file that begins with this video is moved to time 0, in seconds: its first stream, as ffmpeg does it.
double start_of(const MediaInfo& media, const StreamInfo& video, bool with_audio) {
    double first =
        video.start_pts == kNoTimestamp ? 0.0 : static_cast<double>(video.start_pts) * video.time_base.to_double();
    for (const auto& stream : media.streams) {
        if (!with_audio || stream.kind != StreamKind::audio || stream.start_pts == kNoTimestamp) continue;
        first = std::min(first, static_cast<double>(stream.start_pts) * stream.time_base.to_double());
    }
    return first;
}

class Transcoding {
public:
    Transcoding(const MediaSource& source, const MediaTarget& target, const TranscodeOptions& options)
        : source_(source.shared()), options_(options) {
        auto reader = open_for_transcode(source_, options.stream_index, options.encoder);
        video_ = reader->stream();
        if (options.audio && !options.audio_encoding) copier_.emplace(source_, video_.index, false);
        info_ = copier_ ? copier_->info() : reader->info();
        const std::string container = options.muxer.format.empty() ? container_of(target.name()) : options.muxer.format;
        PartPlan whole = plan_whole(video_, options, container);
        const double unit = video_.time_base.to_double();
        CopyRange range;
        double begin = start_of(info_, video_, options.audio);
        double end = info_.start_seconds + info_.duration_seconds;
        if (options.start_seconds || options.end_seconds || options.num_workers > 1) {
            const auto frames = frames_in_range(*reader, options);
            whole.first_frame = frames.first;
            const auto first = frames.seconds_of(frames.first);
            end = frames.seconds_of(frames.end);
            if (options.start_seconds) range.begin_seconds = begin = first;
            begin = std::min(begin, first);
            if (options.end_seconds) range.end_seconds = end;
            range.continuous = frames.times.rising_seconds.empty();
            plans_ = split(*reader, whole, frames, options.num_workers);
        } else {
            plans_.push_back(whole);
        }
        range.shift_seconds = begin;
        for (auto& plan : plans_) plan.shift = std::llround(begin / unit);
        total_seconds_ = std::max(0.0, end - begin);
        parts_.push_back(std::make_unique<TranscodePart>(source_, std::move(reader), plans_[0]));
        open_target(target, container, range);
    }

    TranscodeResult run() {
        result_.decoder = parts_[0]->reader().engine();
        result_.encoder = parts_[0]->encoder().engine();
        const Rational unit = parts_[0]->encoder().stream().time_base;
        const Rational rate = parts_[0]->encoder().stream().average_frame_rate;
        const double frame = static_cast<double>(rate.den) / static_cast<double>(rate.num);
        DecodingTimes times(parts_[0]->encoder().reorder_depth(),
                            std::max<std::int64_t>(1, std::llround(frame / unit.to_double())));
        std::size_t started = 1;
        for (std::size_t number = 0; number < plans_.size() && !result_.cancelled; ++number) {
            while (started < plans_.size() && started < number + static_cast<std::size_t>(options_.num_workers)) {
                parts_.push_back(std::make_unique<TranscodePart>(source_, nullptr, plans_[started++]));
            }
            while (auto packet = parts_[number]->pop()) {
                if (plans_.size() > 1) times.set(*packet);
                write(*packet);
            }
            note_damage(parts_[number]->reader(), plans_[number]);
            if (result_.num_frames == 0 && !result_.cancelled) parts_[number]->reader().expect_frames();
            parts_[number].reset();
        }
        if (!result_.cancelled) add_sound_until(std::numeric_limits<double>::infinity());
        result_.seconds = seconds_;
        report(true);  // what it throws leaves the target as it was
        muxer_->finish();
        return result_;
    }

private:
    void open_target(const MediaTarget& target, const std::string& container, const CopyRange& range) {
        MuxerOptions muxing = options_.muxer;
        muxing.format = container;
        describe_as_source(muxing, info_, range, total_seconds_);
        muxer_ = Muxer::open(target.with_permissions(source_.permissions()), muxing);  // a private video stays private
        StreamInfo encoded = parts_[0]->encoder().stream();
        encoded.language = video_.language;
        encoded.title = video_.title;
        encoded.disposition = video_.disposition;
        if (is_hdr(encoded.color.transfer)) add_hdr_metadata(encoded);
        video_stream_ = muxer_->add_stream(encoded);
        if (options_.audio && options_.audio_encoding) {
            add_encoded_audio(range, container);
        } else if (options_.audio) {
            for (const auto& stream : info_.streams) {
                if (stream.kind == StreamKind::audio) audio_[stream.index] = muxer_->add_stream(stream);
            }
            copier_->set_range(range);
        }
        result_.left_out = streams_left_out(info_, video_.index, options_.audio);
        const bool kept = std::ranges::find(kKeepHdrMetadata, container) != std::end(kKeepHdrMetadata);
        if ((encoded.mastering_display || encoded.content_light) && !kept)
            result_.left_out += std::string(result_.left_out.empty() ? "" : ", ") + "mastering display and light level";
    }

    /// The pictures' messages have them more often than the container, and only probe() looks there.
    void add_hdr_metadata(StreamInfo& encoded) {
        const auto described = probe(source_).streams;
        const auto found = std::ranges::find(described, video_.index, &StreamInfo::index);
        if (found == described.end()) return;
        encoded.mastering_display = found->mastering_display;
        encoded.content_light = found->content_light;
    }

    void add_encoded_audio(const CopyRange& range, const std::string& container) {
        for (const auto& stream : info_.streams) {
            if (stream.kind != StreamKind::audio) continue;
            auto& sound = sounds_.emplace_back(source_, stream.index, range, *options_.audio_encoding, container);
            StreamInfo encoded = sound.stream();
            encoded.language = stream.language;
            encoded.title = stream.title;
            encoded.disposition = stream.disposition;
            sound.set_target_stream(muxer_->add_stream(encoded));
        }
    }

    void write(const Packet& packet) {
        result_.size_bytes += static_cast<std::int64_t>(packet.data.size());
        const double unit = packet.time_base.to_double();
        const double shown = static_cast<double>(packet.pts) * unit;
        add_sound_until(shown + static_cast<double>(plans_[0].shift) * video_.time_base.to_double());
        muxer_->write(packet, video_stream_);
        ++result_.num_frames;
        first_seconds_ = std::min(first_seconds_, shown);
        seconds_ = std::max(seconds_, shown + static_cast<double>(packet.duration) * unit - first_seconds_);
        report(false);
    }

    /// Every reader reports the end of a source that was cut short; the part that reaches it counts it.
    void note_damage(const FrameReader& reader, const PartPlan& part) {
        const auto issues = reader.issues();
        if (issues.empty()) return;
        const bool elsewhere = issues.back().ends_early && part.end_place;
        result_.num_damaged_packets += reader.num_damaged_packets() - (elsewhere ? 1 : 0);
    }

    /// Writes the sound before a time of the source.
    void add_sound_until(double seconds) {
        const auto write_to = [&](int stream, const Packet& packet) {
            result_.size_bytes += static_cast<std::int64_t>(packet.data.size());
            ++result_.num_audio_packets;
            muxer_->write(packet, stream);
        };
        if (copier_) {
            copier_->copy_until(seconds,
                                [&](const Packet& packet) { write_to(audio_.at(packet.stream_index), packet); });
        }
        for (auto& sound : sounds_) {
            sound.encode_until(seconds, [&](const Packet& packet) { write_to(sound.target_stream(), packet); });
        }
    }

    void report(bool last) {
        constexpr std::int64_t kFrames = 10;  // between calls, so that a slow callback costs little
        if (!options_.progress || (!last && result_.num_frames % kFrames != 0) || result_.cancelled) return;
        if (options_.progress({result_.num_frames, seconds_, total_seconds_}) || last) return;
        result_.cancelled = true;
        for (auto& part : parts_) {
            if (part) part->cancel();
        }
    }

    MediaSource source_;
    TranscodeOptions options_;
    MediaInfo info_;
    StreamInfo video_;
    std::vector<PartPlan> plans_;
    std::deque<std::unique_ptr<TranscodePart>> parts_;
    std::unique_ptr<Muxer> muxer_;
    int video_stream_ = 0;
    std::map<int, int> audio_;  // number in the source -> in the target
    std::optional<PacketCopier> copier_;
    std::deque<SoundTranscoder> sounds_;
    TranscodeResult result_;
    double first_seconds_ = std::numeric_limits<double>::infinity();
    double seconds_ = 0;
    double total_seconds_ = 0;
};

}  // namespace

TranscodeResult transcode(const MediaSource& source, const MediaTarget& target, const TranscodeOptions& options) {
    TRICODEC_EXPECT(options.num_workers >= 1, invalid_argument,
                    "num_workers is " + std::to_string(options.num_workers) + "; it must be 1 or more");
    std::error_code unknown;  // of a file that does not exist
    const bool same = !source.path().empty() && !target.path().empty() &&
                      std::filesystem::equivalent(source.path(), target.path(), unknown);
    TRICODEC_EXPECT(!same, invalid_argument,
                    "the target '" + target.name() +
                        "' is the source itself, which would be replaced by a copy of less quality; name another file");
    if (options.encoder.codec == "copy") return copy_streams(source, target, options);
    return Transcoding(source, target, options).run();
}

}  // namespace tricodec
