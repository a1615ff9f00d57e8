// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/packet.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Takes over the references of `packet`.
[[nodiscard]] Packet to_packet(ff::PacketPtr packet, Rational time_base);
/// The AVPacket of a packet from to_packet() (with its side data), or null for other packets.
[[nodiscard]] const AVPacket* av_packet_of(const Packet& packet) noexcept;
/// Makes `target` refer to the bytes of `packet`; copies them unless they are from libavcodec.
void fill_av_packet(AVPacket& target, const Packet& packet);

/// Facts of the stream that a decoded picture does not have.
struct StreamFacts {
    Rational time_base{};
    Rational sample_aspect_ratio{};
    Orientation orientation{};
    ColorDescription color{};
};

/// Wraps a decoded picture, without a copy where PixelFormat has its format (pixel_repack.h). Throws Error(unsupported)
/// that names a pixel format which cannot be kept.
[[nodiscard]] Frame to_frame(ff::FramePtr picture, const StreamFacts& facts);

/// A frame in host memory as libavcodec expects it. Nothing is copied: the picture keeps the frame's memory.
/// Throws Error(unsupported) for a format that this FFmpeg does not have.
[[nodiscard]] ff::FramePtr to_av_picture(const Frame& frame);

}  // namespace tricodec
