// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bitstream/av1_units.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/color.h"

namespace tricodec {

/// Finds Frame::key from the headers of a packet, and what these headers say of colors. The result is the same for
/// every decoder and every FFmpeg; their own flags differ for H.264's recovery points.
class KeyInspector {
public:
    explicit KeyInspector(const StreamInfo& stream);
    /// Packets are given in decoding order: AV1's headers depend on those before.
    [[nodiscard]] bool is_key(const Packet& packet);
    /// Of AV1, by the sequence header in force after that packet. libdav1d of libavcodec keeps an earlier one where a
    /// header says nothing.
    [[nodiscard]] std::optional<ChromaLocation> chroma_location() const noexcept {
        return av1_units_ ? av1_units_->chroma_location() : std::nullopt;
    }

    /// Of VP8, by the last key frame. Its header has a bit that decoders take for the range, and nothing else; the
    /// matrix is BT.601's by the standard (RFC 6386, 9.2). Of libavcodec's threads only the one with the key frame
    /// knows the bit.
    [[nodiscard]] const std::optional<ColorDescription>& vp8_color() const noexcept { return vp8_color_; }

    /// Of H.264 and HEVC: a packet brought a parameter set that the extradata does not have.
    [[nodiscard]] bool has_other_headers() const noexcept { return has_other_headers_; }

private:
    /// The units up to the first picture of H.264 or HEVC.
    [[nodiscard]] std::vector<Bytes> inspect_units(Bytes packet);
    [[nodiscard]] bool is_h264_key(Bytes packet);

    CodecId codec_;
    std::shared_ptr<const AVCodecParameters> parameters_;
    bool has_other_headers_ = false;
    int length_size_ = 0;
    std::optional<Av1Units> av1_units_;
    std::optional<ColorDescription> vp8_color_;
};

}  // namespace tricodec
