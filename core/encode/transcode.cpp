// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode/transcode.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "encode/picture_adapter.h"
#include "encode/source_sound.h"
#include "encode/transcode_part.h"
#include "media/ffmpeg.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec {
namespace {

constexpr double kPartSeconds = 10.0;  // of a part at least: short ones cost rate control and key frames

std::unique_ptr<Demuxer> open_all(const MediaSource& source) {
    return Demuxer::open(source, {.all_streams = true, .silent_end = true});  // TranscodePart tells
}

/// In the units of the video stream.
std::optional<std::int64_t> to_pts(const StreamInfo& video, const std::optional<double>& seconds) {
    if (!seconds) return std::nullopt;
    TRICODEC_EXPECT(std::isfinite(*seconds) && *seconds >= 0, invalid_argument,
                    "the time " + number_text(*seconds) + " s is not accepted; use a finite number of at least 0");
    const double pts = std::ceil(*seconds / video.time_base.to_double() - 1e-6);
    TRICODEC_EXPECT(pts <= static_cast<double>(ff::kFarthest), invalid_argument,
                    "the time " + number_text(*seconds) + " s is beyond any time stamp of the source");
    return static_cast<std::int64_t>(pts);
}

PartPlan plan_whole(const StreamInfo& video, const TranscodeOptions& options, const std::string& container) {
    PartPlan plan;
    plan.pictures = settle_pictures(video, options, container);
    plan.deinterlace = options.deinterlace;
    plan.first_pts = to_pts(video, options.start_seconds);
    plan.end_pts = to_pts(video, options.end_seconds);
    TRICODEC_EXPECT(!plan.first_pts || !plan.end_pts || *plan.first_pts < *plan.end_pts, invalid_argument,
                    "the range from " + std::to_string(options.start_seconds.value_or(0)) + " s to " +
                        std::to_string(options.end_seconds.value_or(0)) + " s is empty; end must be after start");
    plan.shift = plan.first_pts.value_or(0);
    plan.with_audio = options.audio && !options.audio_encoding;
    return plan;
}

/// Parts of about the same length that begin at key frames.
std::vector<PartPlan> split(const MediaSource& source, const PartPlan& whole, int num_workers) {
    std::vector<PartPlan> parts{whole};
    if (num_workers <= 1) return parts;
    TRICODEC_EXPECT(
        source.reopenable(), unsupported,
        "'" + source.name() + "' can be opened only once, which num_workers > 1 needs; pass a path or bytes");
    const auto demuxer = Demuxer::open(source, {.silent_end = true});
    std::vector<std::int64_t> keys;
    std::int64_t last = 0;
    while (const auto packet = demuxer->read()) {
        check_interrupt();
        if (packet->pts == kNoTimestamp) return parts;  // a bare stream cannot be sought by time
        last = std::max(last, packet->pts);
        if (packet->key) keys.push_back(packet->pts);
    }
    std::ranges::sort(keys);
    const std::int64_t begin = whole.first_pts.value_or(keys.empty() ? 0 : keys.front());
    const std::int64_t end = std::min(whole.end_pts.value_or(last + 1), last + 1);
    const double unit = demuxer->stream().time_base.to_double();
    const double length = std::max(kPartSeconds, static_cast<double>(end - begin) * unit / (4.0 * num_workers));
    for (const auto key : keys) {
        auto& current = parts.back();
        const std::int64_t from = current.first_pts.value_or(begin);
        if (key <= from || key >= end || static_cast<double>(key - from) * unit < length) continue;
        PartPlan next = current;
        current.end_pts = key;
        next.first_pts = key;
        parts.push_back(std::move(next));
    }
    for (auto& part : parts) {
        if (parts.size() > 1) part.with_audio = false;
        if (part.pictures.encoder.num_threads == 0 && parts.size() > 1)
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

SoundRange sound_range(const StreamInfo& video, const PartPlan& whole) {
    const double unit = video.time_base.to_double();
    const auto seconds = [&](std::int64_t pts) { return static_cast<double>(pts) * unit; };
    SoundRange range;
    if (whole.first_pts) range.begin_seconds = seconds(*whole.first_pts);
    if (whole.end_pts) range.end_seconds = seconds(*whole.end_pts);
    range.shift_seconds = seconds(whole.shift);
    return range;
}

class Transcoding {
public:
    Transcoding(const MediaSource& source, const MediaTarget& target, const TranscodeOptions& options)
        : source_(options.start_seconds || options.num_workers > 1 || options.audio_encoding ? source.spooled()
                                                                                             : source),
          options_(options) {
        auto demuxer = open_all(source_);
        info_ = demuxer->info();
        video_ = demuxer->stream();
        const std::string container = options.muxer.format.empty() ? container_of(target.name()) : options.muxer.format;
        const PartPlan whole = plan_whole(video_, options, container);
        plans_ = split(source_, whole, options.num_workers);
        parts_.push_back(
            std::make_unique<TranscodePart>(plans_.size() == 1 ? std::move(demuxer) : open_all(source_), plans_[0]));
        MuxerOptions muxing = options.muxer;
        muxing.format = container;
        muxer_ = Muxer::open(target.with_permissions(source_.permissions()), muxing);  // a private video stays private
        video_stream_ = muxer_->add_stream(parts_[0]->encoder().stream());
        const auto range = sound_range(video_, whole);
        if (options.audio && options.audio_encoding) {
            add_encoded_audio(range, container);
        } else if (options.audio) {
            add_audio();
            if (plans_.size() > 1 && !audio_.empty()) copier_.emplace(source_, range);
        }
        total_seconds_ = expected_seconds(whole);
    }

    TranscodeResult run() {
        result_.decoder = parts_[0]->decoder();
        result_.encoder = parts_[0]->encoder().engine();
        const Rational unit = parts_[0]->encoder().stream().time_base;
        const Rational rate = parts_[0]->encoder().stream().average_frame_rate;
        const double frame = static_cast<double>(rate.den) / static_cast<double>(rate.num);
        DecodingTimes times(parts_[0]->encoder().reorder_depth(),
                            std::max<std::int64_t>(1, std::llround(frame / unit.to_double())));
        std::size_t started = 1;
        for (std::size_t number = 0; number < plans_.size() && !result_.cancelled; ++number) {
            while (started < plans_.size() && started < number + static_cast<std::size_t>(options_.num_workers)) {
                parts_.push_back(std::make_unique<TranscodePart>(open_all(source_), plans_[started++]));
            }
            while (auto each = parts_[number]->pop()) {
                if (each->video && plans_.size() > 1) times.set(each->packet);
                write(*each);
            }
            note_damage(*parts_[number]);
            parts_[number].reset();
        }
        if (!result_.cancelled) add_sound_until(std::numeric_limits<double>::infinity());
        if (result_.num_frames == 0 && !result_.cancelled) fail_without_frames();
        result_.seconds = seconds_;
        report(true);  // what it throws leaves the target as it was
        muxer_->finish();
        return result_;
    }

private:
    [[noreturn]] void fail_without_frames() const {
        const auto& [start, end] = std::pair(options_.start_seconds, options_.end_seconds);
        if ((start || end) && result_.num_damaged_packets == 0) {
            fail(ErrorCode::invalid_argument, "no frame of '" + source_.name() + "' lies in the range from " +
                                                  number_text(start.value_or(0)) + " s to " +
                                                  (end ? number_text(*end) + " s" : "the end") + "; the video has " +
                                                  number_text(info_.duration_seconds) + " s");
        }
        fail(ErrorCode::corrupt_data, "no frame of '" + source_.name() + "' could be decoded" +
                                          (first_damage_.empty() ? "" : ": " + first_damage_));
    }

    void add_audio() {
        for (const auto& stream : info_.streams) {
            if (stream.kind == StreamKind::audio) audio_[stream.index] = muxer_->add_stream(stream);
        }
    }

    void add_encoded_audio(const SoundRange& range, const std::string& container) {
        for (const auto& stream : info_.streams) {
            if (stream.kind != StreamKind::audio) continue;
            TRICODEC_EXPECT(
                source_.reopenable(), unsupported,
                "'" + source_.name() +
                    "' can be opened only once, and encoding its sound needs more; pass a path or bytes, or "
                    "copy the sound");
            sounds_.emplace_back(source_, stream.index, range, *options_.audio_encoding, container);
            sounds_.back().set_target_stream(muxer_->add_stream(sounds_.back().stream()));
        }
    }

    double expected_seconds(const PartPlan& whole) const {
        const double unit = video_.time_base.to_double();
        const double end = whole.end_pts ? static_cast<double>(*whole.end_pts) * unit : info_.duration_seconds;
        const double total = info_.duration_seconds > 0 ? std::min(end, info_.duration_seconds) : end;
        return std::max(0.0, total - static_cast<double>(whole.first_pts.value_or(0)) * unit);
    }

    void write(const PartPacket& each) {
        result_.size_bytes += static_cast<std::int64_t>(each.packet.data.size());
        if (!each.video) {
            const auto found = audio_.find(each.source_stream);
            if (found == audio_.end()) return;
            muxer_->write(each.packet, found->second);
            ++result_.num_audio_packets;
            return;
        }
        const double unit = each.packet.time_base.to_double();
        add_sound_until(static_cast<double>(each.packet.pts) * unit +
                        static_cast<double>(plans_[0].shift) * video_.time_base.to_double());
        muxer_->write(each.packet, video_stream_);
        ++result_.num_frames;
        const auto duration = each.packet.duration > 0 ? static_cast<double>(each.packet.duration) * unit : 0.0;
        seconds_ = std::max(seconds_, static_cast<double>(each.packet.pts) * unit + duration);
        report(false);
    }

    void note_damage(const TranscodePart& part) {
        if (part.num_damaged() > 0 && result_.num_damaged_packets == 0) {
            first_damage_ = part.first_damage();
            log(LogLevel::warning, "'" + source_.name() + "' is damaged: " + part.first_damage() +
                                       "; what of it could be decoded is transcoded");
        }
        result_.num_damaged_packets += part.num_damaged();
    }

    /// Writes the sound before a time of the source, if it does not come with the video's packets.
    void add_sound_until(double seconds) {
        const auto write_to = [&](int stream) {
            return [this, stream](const Packet& packet) {
                result_.size_bytes += static_cast<std::int64_t>(packet.data.size());
                ++result_.num_audio_packets;
                muxer_->write(packet, stream);
            };
        };
        if (copier_) {
            copier_->copy_until(seconds,
                                [&](const Packet& packet) { write_to(audio_.at(packet.stream_index))(packet); });
        }
        for (auto& sound : sounds_) sound.encode_until(seconds, write_to(sound.target_stream()));
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
    std::optional<SoundCopier> copier_;
    std::deque<SoundTranscoder> sounds_;
    TranscodeResult result_;
    std::string first_damage_;
    double seconds_ = 0;
    double total_seconds_ = 0;
};

}  // namespace

TranscodeResult transcode(const MediaSource& source, const MediaTarget& target, const TranscodeOptions& options) {
    TRICODEC_EXPECT(options.num_workers >= 1, invalid_argument,
                    "num_workers is " + std::to_string(options.num_workers) + "; it must be 1 or more");
    return Transcoding(source, target, options).run();
}

}  // namespace tricodec
