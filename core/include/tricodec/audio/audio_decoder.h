// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tricodec/media/packet.h"
#include "tricodec/media/stream_info.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// Samples as a codec gives them.
struct RawSamples {
    Tensor data;                      ///< [channels, samples] in the codec's own type, not normalized
    std::int64_t pts = kNoTimestamp;  ///< of the first sample, in the stream's time base
    int sample_rate = 0;              ///< in Hz
};

/// Packets of one audio stream to samples. AudioReader reads a whole file; this is for callers with packets.
/// Thread safety: one object from one thread at a time.
class AudioDecoder {
public:
    /// Throws Error(unsupported) for a codec without a decoder, Error(invalid_argument) for a stream of another kind.
    [[nodiscard]] static std::unique_ptr<AudioDecoder> create(const StreamInfo& stream);
    virtual ~AudioDecoder() = default;

    /// The samples that are ready, of no packet, of one or of several. Throws Error(corrupt_data) for a packet that
    /// cannot be decoded; the next packet can be.
    [[nodiscard]] virtual std::vector<RawSamples> decode(const Packet& packet) = 0;
    /// The samples that are left, at the end. decode() is possible again after reset().
    [[nodiscard]] virtual std::vector<RawSamples> flush() = 0;
    /// Forgets everything but the headers: for use after a seek.
    virtual void reset() = 0;
};

}  // namespace tricodec
