// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "media/av1_units.h"
#include "tricodec/packet.h"
#include "tricodec/stream_info.h"

namespace tricodec {

/// Tells what Frame::key says of a packet's frame, by the packet's headers: the same for every engine and every FFmpeg,
/// whose own flags differ for H.264's recovery points.
class KeyInspector {
public:
    explicit KeyInspector(const StreamInfo& stream);
    /// Packets are given in decoding order: AV1's headers depend on those before.
    [[nodiscard]] bool is_key(const Packet& packet);

private:
    [[nodiscard]] bool is_h264_key(Bytes packet) const;

    Codec codec_;
    int length_size_ = 0;
    std::optional<Av1Units> av1_units_;
};

}  // namespace tricodec
