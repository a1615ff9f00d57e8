// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "video/decoder_pool.h"
#include "video/packet_feed.h"

namespace tricodec {

/// Frame 0 from the first packet alone, without an index and without waiting for pictures that a codec reorders; or
/// nothing where the headers leave doubt that it is frame 0, or the picture is damaged. The feed's next packet is then
/// another one than before: it must be rereadable.
[[nodiscard]] std::optional<Frame> decode_first_frame(PacketFeed& feed, DecoderPool& pool);

}  // namespace tricodec
