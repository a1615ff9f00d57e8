// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/io/media_source.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// How a reader of sound reaches a place that it has not decoded up to.
enum class AudioSeek : std::uint8_t {
    /// Samples are those of decoding from the start. Only PCM in WAV, MOV and MP4 is sought; else the reader decodes
    /// from the start to the place.
    exact,
    /// Seeks, decodes some packets more than needed, and numbers samples by time stamps. Codecs that remember more
    /// than that (AAC with noise, Opus, AC-3) give slightly different samples, and coarse time stamps (Matroska)
    /// shift them by up to a millisecond.
    approximate,
};

/// Which stream an `AudioReader` reads, and the form of its samples.
struct AudioReaderOptions {
    int stream_index = -1;  ///< -1 is the best audio stream
    int sample_rate = 0;    ///< of the result, in Hz; 0 is the stream's
    int num_channels = 0;   ///< of the result, mixed by libswresample to FFmpeg's default layout; 0 is the stream's
    DType dtype = DType::float32;  ///< or int16
    AudioSeek seek = AudioSeek::exact;
    bool ignore_edit_list = false;
};

/// Consecutive samples.
struct AudioSamples {
    Tensor data;               ///< [channels, samples]
    std::int64_t start = 0;    ///< number of the first sample
    int sample_rate = 0;       ///< in Hz
    double pts_seconds = 0.0;  ///< time of the first sample, on the clock of the file
};

/// The sound of a file as a sequence of samples. Sample i is the i-th sample that decoding and resampling the whole
/// stream gives, however the reads are cut: priming and edit lists are applied as FFmpeg applies them.
///
/// Times are those of the container, as for video frames. Sample 0 is at start_seconds(). The others follow at the
/// sample rate; where the time stamps of the stream jump by more than 0.1 s, the times of the later samples jump too,
/// and no samples are made up.
///
/// Thread safety: one call at a time.
class AudioReader {
public:
    /// Opens the source and decodes the first packet. Throws Error(not_found, io, refused, corrupt_data) as
    /// Demuxer::open(), Error(unsupported) for a file without audio and for a codec without a decoder,
    /// Error(invalid_argument) for options.
    [[nodiscard]] static std::unique_ptr<AudioReader> open(const MediaSource& source,
                                                           const AudioReaderOptions& options = {});
    virtual ~AudioReader() = default;

    [[nodiscard]] virtual const MediaInfo& info() const noexcept = 0;
    /// The stream as it is in the file.
    [[nodiscard]] virtual const StreamInfo& stream() const noexcept = 0;
    /// Of the result.
    [[nodiscard]] virtual int sample_rate() const noexcept = 0;
    [[nodiscard]] virtual int num_channels() const noexcept = 0;
    [[nodiscard]] virtual DType dtype() const noexcept = 0;
    /// FFmpeg's name of the result's channels: "mono", "stereo", "5.1", ...
    [[nodiscard]] virtual const std::string& channel_layout() const noexcept = 0;

    /// Time of sample 0.
    [[nodiscard]] virtual double start_seconds() const noexcept = 0;
    /// Decodes to the end if that was not done before.
    [[nodiscard]] virtual std::int64_t num_samples() = 0;
    /// Number of the sample that is nearest to a time; halfway is the later one, before the start 0. As far as the
    /// stream is decoded, jumps of its time stamps are known.
    [[nodiscard]] virtual std::int64_t sample_at(double seconds) const = 0;

    /// Samples from `start` on, which counts from the end if it is negative; `count` -1 is to the end. What lies past
    /// the end is left out. Throws Error(out_of_range) for a start past the end, Error(refused) for more than
    /// Limits::max_output_bytes, Error(corrupt_data) if the stream has no samples at all.
    [[nodiscard]] virtual AudioSamples read(std::int64_t start, std::int64_t count) = 0;
    /// Samples from sample_at(start) to before sample_at(end); nothing is the start and the end of the sound. Throws
    /// as read() does.
    [[nodiscard]] virtual AudioSamples read_seconds(std::optional<double> start, std::optional<double> end) = 0;
    /// Exactly the samples of a time, num_samples_of() of them: silence where the sound has not begun or has ended.
    [[nodiscard]] virtual AudioSamples read_padded(double start, double end) = 0;
    /// How many samples read_padded() gives.
    [[nodiscard]] virtual std::int64_t num_samples_of(double start, double end) const = 0;

    /// Damage met so far, a report for each packet that could not be decoded, kMostIssues at most. A source that ends
    /// early is the last entry.
    [[nodiscard]] virtual std::vector<DecodeIssue> issues() const = 0;
    [[nodiscard]] virtual std::int64_t num_damaged_packets() const = 0;
};

}  // namespace tricodec
