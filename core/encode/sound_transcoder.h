// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "encode/packet_copier.h"
#include "tricodec/audio/audio_encoder.h"
#include "tricodec/audio/audio_reader.h"
#include "tricodec/io/media_source.h"

namespace tricodec {

/// Decodes one audio stream of a source and encodes it again, exactly from the start of the range to its end.
class SoundTranscoder {
public:
    /// Throws as AudioReader::open() and AudioEncoder::create().
    SoundTranscoder(const MediaSource& source, int stream_index, const CopyRange& range, const AudioEncoding& encoding,
                    const std::string& container);

    [[nodiscard]] const StreamInfo& stream() const noexcept { return encoder_->stream(); }
    [[nodiscard]] std::int64_t num_damaged_packets() const { return reader_->num_damaged_packets(); }
    /// The number of the stream in the file that is written, which the caller keeps here.
    [[nodiscard]] int target_stream() const noexcept { return target_stream_; }
    void set_target_stream(int number) noexcept { target_stream_ = number; }
    /// Gives `write` the packets of the samples before a time of the source.
    void encode_until(double seconds, const std::function<void(const Packet&)>& write);

private:
    /// The next `count` samples. Returns how many there were.
    std::int64_t encode(std::int64_t count, const std::function<void(const Packet&)>& write);

    CopyRange range_;
    std::unique_ptr<AudioReader> reader_;
    std::unique_ptr<AudioEncoder> encoder_;
    std::int64_t next_ = 0;
    std::int64_t end_ = 0;
    bool ended_ = false;
    int target_stream_ = 0;
};

}  // namespace tricodec
