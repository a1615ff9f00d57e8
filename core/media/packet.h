// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "media/ffmpeg.h"
#include "tricodec/packet.h"

namespace tricodec {
/// Takes over the references of `packet`.
[[nodiscard]] Packet to_packet(ff::PacketPtr packet, Rational time_base);
/// The AVPacket behind a packet that to_packet made (side data included), or null for packets made otherwise.
[[nodiscard]] const AVPacket* av_packet_of(const Packet& packet) noexcept;
/// Makes `target` refer to the bytes of `packet`, by reference where they are libavcodec's own already.
void fill_av_packet(AVPacket& target, const Packet& packet);
}  // namespace tricodec
