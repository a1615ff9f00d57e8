// SPDX-License-Identifier: Apache-2.0
#include "encode/sound_transcoder.h"

#include <algorithm>
#include <limits>

#include "tricodec/base/error.h"

namespace tricodec {

SoundTranscoder::SoundTranscoder(const MediaSource& source, int stream_index, const CopyRange& range,
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
