// SPDX-License-Identifier: Apache-2.0
#include "audio/audio_frames.h"

#include <algorithm>
#include <limits>

#include "base/stage_scope.h"
#include "ffmpeg/conversions.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

DemuxerOptions of_audio(DemuxerOptions options) {
    options.kind = StreamKind::audio;
    options.silent_end = true;
    return options;
}

/// libavcodec's decoder of an audio stream. `name` is the file's, for errors. Throws Error(invalid_argument) for a
/// stream of another kind, Error(unsupported) for a codec without a decoder.
DecoderSetup audio_decoder_setup(const StreamInfo& stream, const std::string& name) {
    TRICODEC_EXPECT(stream.kind == StreamKind::audio, invalid_argument,
                    "stream " + std::to_string(stream.index) + " of '" + name + "' is " +
                        std::string(to_string(stream.kind)) +
                        ", not audio; pass the number of an audio stream, or -1 "
                        "for the best one");
    DecoderSetup setup;
    setup.codec = find_decoder(stream.parameters->codec_id);
    TRICODEC_EXPECT(setup.codec != nullptr, unsupported,
                    "no decoder for '" + stream.codec_name + "' is in this FFmpeg (libavcodec " +
                        std::to_string(LIBAVCODEC_VERSION_MAJOR) +
                        "); install one that has it, or transcode the sound");
    setup.parameters = stream.parameters;
    setup.settings["threads"] = "1";
    // What one packet may give; int16 is the smallest result.
    const auto most = std::min<std::int64_t>(limits().max_output_bytes / 2, std::numeric_limits<int>::max());
    setup.configure = [time_base = ff::to_av(stream.time_base), most](AVCodecContext& context) {
        context.pkt_timebase = time_base;  // libavcodec cuts priming by it
        context.max_samples = most;
    };
    return setup;
}

}  // namespace

bool PacketIssues::add(DecodeIssue issue) {
    if (!known_.empty() && known_.contains({issue.pos, issue.pts})) return false;
    ++num_packets_;
    if (kept_.size() == kMostIssues) return true;
    known_.insert({issue.pos, issue.pts});
    kept_.push_back(std::move(issue));
    return true;
}

AudioFrames::AudioFrames(MediaSource source, DemuxerOptions options)
    : source_(source.spooled()),
      options_(of_audio(options)),
      demuxer_(Demuxer::open(source_, options_)),
      info_(demuxer_->info()),
      stream_(demuxer_->stream()),
      packet_(ff::make_packet()),
      frame_(ff::make_frame()) {
    options_.stream_index = stream_.index;
    decoder_.emplace(audio_decoder_setup(stream_, info_.name));
}

const AVFrame* AudioFrames::next() {
    TRICODEC_EXPECT(demuxer_ != nullptr, io, "'" + info_.name + "' could not be opened again; make another reader");
    const ff::CallLog call_log;
    const StageScope scope(Stage::decode, 0);
    for (;;) {
        av_frame_unref(frame_.get());
        const int code = decoder_->receive(*frame_);
        if (code >= 0) {
            frame_->pts = frame_->best_effort_timestamp;
            if (frame_->nb_samples > 0) return frame_.get();
        } else if (code == AVERROR(EAGAIN)) {
            if (ended_) return nullptr;
            send_next();
        } else if (code == AVERROR_EOF) {
            return nullptr;
        } else {
            report(code);
        }
    }
}

void AudioFrames::send_next() {
    auto packet = demuxer_->read();
    if (!packet) {
        note_end();
        ended_ = true;
        static_cast<void>(decoder_->send(nullptr, [] { return false; }));
        return;
    }
    if (packet->data.empty()) return;  // an empty packet would mean the end to libavcodec
    last_ = *std::move(packet);
    fill_av_packet(*packet_, last_);
    const int code = decoder_->send(packet_.get(), [] { return false; });
    av_packet_unref(packet_.get());
    if (code < 0) report(code);
    if (number_ >= 0) ++number_;
}

void AudioFrames::report(int code) {
    const auto kind = ff::damage_code(code);
    TRICODEC_EXPECT(kind != ErrorCode::out_of_memory, out_of_memory,
                    "no memory is left to decode '" + info_.name + "'");
    DecodeIssue issue;
    issue.packet_number = number_;
    issue.pts = last_.pts;
    issue.pos = last_.pos;
    issue.message = ff::damage_text(code, kind);
    const bool first = issues_.num_packets() == 0;
    if (issues_.add(issue) && first) {
        log(LogLevel::warning,
            "the sound of '" + info_.name + "' is damaged: " + issue.message + "; all reports are in issues");
    }
}

void AudioFrames::note_end() {
    const auto& why = demuxer_->ends_early();
    if (why.empty() || !ends_early_.empty()) return;
    ends_early_ = why;
    log(LogLevel::warning, "'" + info_.name + "' is damaged: it ends early: " + why + "; this is in issues");
}

void AudioFrames::restart() {
    demuxer_.reset();  // before its reader is opened again
    demuxer_ = Demuxer::open(source_, options_);
    decoder_.emplace(audio_decoder_setup(stream_, info_.name));
    number_ = 0;
    ended_ = false;
}

bool AudioFrames::seek(std::int64_t pts) {
    if (!seekable()) return false;
    try {
        demuxer_->seek(pts);
    } catch (const Error& error) {
        log(LogLevel::debug, std::string("a seek failed, reading from the start instead: ") + error.what());
        return false;
    }
    decoder_->flush();
    number_ = -1;
    ended_ = false;
    return true;
}

std::vector<DecodeIssue> AudioFrames::issues() const {
    auto issues = issues_.kept();
    std::ranges::stable_sort(issues, {}, &DecodeIssue::pts);
    if (!ends_early_.empty()) {
        DecodeIssue end;
        end.message = "it ends early: " + ends_early_;
        end.ends_early = true;
        issues.push_back(std::move(end));
    }
    return issues;
}

std::int64_t AudioFrames::num_damaged_packets() const noexcept {
    return issues_.num_packets() + (ends_early_.empty() ? 0 : 1);
}

}  // namespace tricodec
