// SPDX-License-Identifier: Apache-2.0
#include "encode/source_sound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

double at(const Packet& packet) {
    return static_cast<double>(packet.pts) * packet.time_base.to_double();
}

}  // namespace

SoundCopier::SoundCopier(const MediaSource& source, const SoundRange& range)
    : range_(range), demuxer_(Demuxer::open(source, {.all_streams = true, .silent_end = true})) {
    // silent_end: the reader of the video reports it.
    if (range.begin_seconds) {
        const double unit = demuxer_->stream().time_base.to_double();
        demuxer_->seek(static_cast<std::int64_t>(std::llround(*range.begin_seconds / unit)));
    }
}

void SoundCopier::copy_until(double seconds, const std::function<void(const Packet&)>& write) {
    while (!ended_) {
        if (!held_) held_ = next();
        if (!held_ || at(*held_) >= seconds) return;
        const auto shift = static_cast<std::int64_t>(std::llround(range_.shift_seconds / held_->time_base.to_double()));
        held_->pts -= shift;
        if (held_->dts != kNoTimestamp) held_->dts -= shift;
        write(*held_);
        held_.reset();
    }
}

std::optional<Packet> SoundCopier::next() {
    while (auto packet = demuxer_->read()) {
        const auto& stream = demuxer_->info().streams[static_cast<std::size_t>(packet->stream_index)];
        if (stream.kind != StreamKind::audio || packet->pts == kNoTimestamp) continue;
        if (range_.begin_seconds && at(*packet) < *range_.begin_seconds) continue;
        if (range_.end_seconds && at(*packet) >= *range_.end_seconds) continue;
        return packet;
    }
    ended_ = true;
    return std::nullopt;
}

SoundTranscoder::SoundTranscoder(const MediaSource& source, int stream_index, const SoundRange& range,
                                 const AudioEncoding& encoding, const std::string& container)
    : range_(range), reader_(AudioReader::open(source, {.stream_index = stream_index})) {
    next_ = range.begin_seconds ? reader_->sample_at(*range.begin_seconds) : 0;
    end_ = range.end_seconds ? reader_->sample_at(*range.end_seconds) : std::numeric_limits<std::int64_t>::max();
    const double first = reader_->start_seconds() + static_cast<double>(next_) / reader_->sample_rate();
    encoder_ = AudioEncoder::create({.dtype = reader_->dtype(),
                                     .sample_rate = reader_->sample_rate(),
                                     .num_channels = reader_->num_channels(),
                                     .container = container,
                                     .start_seconds = first - range.shift_seconds},
                                    encoding);
}

void SoundTranscoder::encode_until(double seconds, const std::function<void(const Packet&)>& write) {
    const std::int64_t chunk = std::max(1, reader_->sample_rate() / 4);
    while (!ended_) {
        const double time = reader_->start_seconds() + static_cast<double>(next_) / reader_->sample_rate();
        if (time >= seconds) return;
        const auto wanted = std::min(chunk, end_ - next_);
        const auto given = wanted > 0 ? encode(wanted, write) : 0;
        next_ += given;
        if (wanted > 0 && given == wanted) continue;
        for (const Packet& packet : encoder_->flush()) write(packet);
        ended_ = true;
    }
}

std::int64_t SoundTranscoder::encode(std::int64_t count, const std::function<void(const Packet&)>& write) {
    AudioSamples samples;
    try {
        samples = reader_->read(next_, count);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_range) throw;
        return 0;  // the sound ends before the range
    }
    for (const Packet& packet : encoder_->encode(samples.data.view)) write(packet);
    return samples.data.view.shape[1];
}

}  // namespace tricodec
