// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// How sound is encoded.
struct AudioEncoding {
    /// FFmpeg's name of a codec ("aac", "opus", "mp3", "flac", "vorbis", "pcm_s16le", ...) or of an encoder; empty is
    /// the container's own.
    std::string codec;
    int sample_rate = 0;                         ///< 0 is the input's, or the nearest that the encoder accepts
    int num_channels = 0;                        ///< 0 is the input's, or the nearest that the encoder accepts
    std::int64_t bit_rate = 0;                   ///< bits per second; 0 is the encoder's default
    std::map<std::string, std::string> options;  ///< of the encoder, by FFmpeg's names
};

/// What is given to the encoder, and where its packets go.
struct AudioInputForm {
    DType dtype = DType::float32;  ///< or int16
    int sample_rate = 0;
    int num_channels = 0;
    std::string container = "mp4";  ///< libavformat's name
    double start_seconds = 0.0;     ///< time of the first sample
};

/// Samples to packets, resampled and mixed as the encoder needs it. How the samples are cut makes no difference.
/// Thread safety: one object from one thread at a time.
class AudioEncoder {
public:
    /// Throws Error(invalid_argument) for a codec that is not known and values that its encoder does not accept,
    /// Error(unsupported) if it cannot be opened.
    [[nodiscard]] static std::unique_ptr<AudioEncoder> create(const AudioInputForm& input,
                                                              const AudioEncoding& encoding = {});
    virtual ~AudioEncoder() = default;

    /// For Muxer::add_stream().
    [[nodiscard]] virtual const StreamInfo& stream() const noexcept = 0;
    /// "libavcodec aac".
    [[nodiscard]] virtual std::string engine() const = 0;
    /// The packets that are complete. `samples` is [channels, samples] of the input's form, the samples of a channel
    /// adjacent. Throws Error(invalid_argument) for another form.
    [[nodiscard]] virtual std::vector<Packet> encode(const TensorView& samples) = 0;
    /// The packets that are left, at the end.
    [[nodiscard]] virtual std::vector<Packet> flush() = 0;
};

/// An array of sound, [channels, samples] or [samples] in host memory, as [channels, samples]. Throws
/// Error(invalid_argument) for other shapes and types, or a sample rate that is not positive.
[[nodiscard]] TensorView sound_of(const TensorView& array, int sample_rate);

}  // namespace tricodec
