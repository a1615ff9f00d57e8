// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/packet.h"

namespace tricodec {
/// Takes over the references of `packet`.
[[nodiscard]] Packet to_packet(ff::PacketPtr packet, Rational time_base);
/// The AVPacket of a packet from to_packet() (with its side data), or null for other packets.
[[nodiscard]] const AVPacket* av_packet_of(const Packet& packet) noexcept;
/// Makes `target` refer to the bytes of `packet`; copies them unless they are from libavcodec.
void fill_av_packet(AVPacket& target, const Packet& packet);
}  // namespace tricodec
