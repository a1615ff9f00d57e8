// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "ffmpeg/ffmpeg.h"

namespace tricodec {

/// Turns a container's packets into an elementary stream that decodes on its own: Annex B with parameter sets before
/// each key frame for H.264 and HEVC, the codec's headers before the first packet for MPEG-4 and VC-1.
class ElementaryStreamFilter {
public:
    explicit ElementaryStreamFilter(const AVStream& stream)
        : ElementaryStreamFilter(*stream.codecpar, stream.time_base) {}
    ElementaryStreamFilter(const AVCodecParameters& parameters, AVRational time_base);

    /// Feeds one packet; pop() gives the results.
    void push(ff::PacketPtr packet);
    void push_end();
    [[nodiscard]] ff::PacketPtr pop();
    void reset();

    /// False if packets come out as they went in.
    [[nodiscard]] bool rewrites() const noexcept { return bsf_ != nullptr || kept_header_ != nullptr; }

    /// The parameters of the rewritten packets, with headers in Annex B; null if nothing is rewritten.
    [[nodiscard]] std::shared_ptr<const AVCodecParameters> parameters() const;

private:
    void drain();
    ff::BsfPtr bsf_;             // null if packets are not rewritten
    int length_size_ = 0;        // bytes of a NAL unit's length prefix
    ff::PacketPtr header_;       // extradata still to be put before the next packet
    ff::PacketPtr kept_header_;  // the same, for reset()
    std::deque<ff::PacketPtr> ready_;
};

}  // namespace tricodec
