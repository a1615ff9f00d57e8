// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bitstream/nal_types.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// Calls `visit` for each NAL unit of a packet, without start code or length. `length_size` 0 means Annex B.
/// False if the packet cannot be split into NAL units.
bool for_each_nal(Bytes packet, int length_size, const std::function<void(Bytes nal)>& visit);

/// The units up to a packet's first picture: those that describe it, and last the first unit of the picture itself, if
/// there is one, with the rest of the packet. In MPEG-1, MPEG-2 and MPEG-4 (Annex B), a unit begins with the last byte
/// of its start code.
[[nodiscard]] std::vector<Bytes> nals_to_picture(Bytes packet, int length_size, CodecId codec);

/// Bytes of a length prefix as avcC or hvcC extradata state it; 0 for Annex B and for other codecs.
[[nodiscard]] int nal_length_size(CodecId codec, Bytes extradata) noexcept;

/// True for an SPS or a PPS of H.264, or a VPS, an SPS or a PPS of HEVC.
[[nodiscard]] bool is_parameter_set(CodecId codec, Bytes nal);

/// The payload without emulation prevention bytes (7.4.1 of H.264).
[[nodiscard]] std::vector<std::uint8_t> nal_payload(Bytes nal);

/// Calls `visit` for each message of an SEI NAL unit without its header; stops at a message that is cut off.
void for_each_sei(Bytes messages, const std::function<void(int type, std::span<const std::uint8_t> payload)>& visit);

/// recovery_frame_cnt of an H.264 SEI NAL unit's recovery point message, or -1 when it has none.
[[nodiscard]] int h264_recovery_frame_count(Bytes sei_nal);

}  // namespace tricodec
