// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the first bytes of the units of a bitstream say: the types of NAL units (table 7-1 of H.264 and of HEVC), and
/// the start codes of MPEG.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tricodec/io/stream_info.h"

namespace tricodec {

using Bytes = std::span<const std::byte>;

[[nodiscard]] inline unsigned byte_at(Bytes bytes, std::size_t i) {
    return std::to_integer<unsigned>(bytes[i]);
}

namespace h264_nal {

inline constexpr unsigned kSlice = 1, kIdr = 5, kSei = 6, kSps = 7, kPps = 8, kEndOfSequence = 10, kEndOfStream = 11;

[[nodiscard]] constexpr unsigned type_of(unsigned first_byte) noexcept {
    return first_byte & 31;
}
[[nodiscard]] inline unsigned type_of(Bytes nal) {
    return type_of(byte_at(nal, 0));
}
[[nodiscard]] constexpr bool is_slice(unsigned type) noexcept {
    return type >= kSlice && type <= kIdr;
}
[[nodiscard]] constexpr bool is_parameter_set(unsigned type) noexcept {
    return type == kSps || type == kPps;
}
/// nal_ref_idc: later pictures may refer to this one.
[[nodiscard]] inline bool is_reference(Bytes nal) {
    return (byte_at(nal, 0) & 0x60) != 0;
}

}  // namespace h264_nal

namespace hevc_nal {

inline constexpr unsigned kFirstLeading = 6, kLastLeading = 9, kFirstIrap = 16, kCra = 21, kLastIrap = 23,
                          kLastSlice = 31, kVps = 32, kSps = 33, kPps = 34, kEndOfSequence = 36, kEndOfStream = 37,
                          kPrefixSei = 39, kSuffixSei = 40;
inline constexpr std::size_t kHeaderBytes = 2;

[[nodiscard]] constexpr unsigned type_of(unsigned first_byte) noexcept {
    return first_byte >> 1 & 63;
}
[[nodiscard]] inline unsigned type_of(Bytes nal) {
    return type_of(byte_at(nal, 0));
}
[[nodiscard]] constexpr bool is_slice(unsigned type) noexcept {
    return type <= kLastSlice;
}
[[nodiscard]] constexpr bool is_parameter_set(unsigned type) noexcept {
    return type >= kVps && type <= kPps;
}
/// A random access picture, or a type that is reserved for one: its slices have no_output_of_prior_pics_flag.
[[nodiscard]] constexpr bool is_irap(unsigned type) noexcept {
    return type >= kFirstIrap && type <= kLastIrap;
}
[[nodiscard]] constexpr bool is_leading(unsigned type) noexcept {
    return type >= kFirstLeading && type <= kLastLeading;
}
/// No picture of its temporal layer refers to such a picture.
[[nodiscard]] constexpr bool is_non_reference(unsigned type) noexcept {
    return type < kFirstIrap && type % 2 == 0;
}
[[nodiscard]] inline bool is_base_layer(Bytes nal) {
    return (byte_at(nal, 0) & 1) == 0 && byte_at(nal, 1) >> 3 == 0;
}
[[nodiscard]] inline int temporal_layer(Bytes nal) {
    return static_cast<int>(byte_at(nal, 1) & 7) - 1;
}

}  // namespace hevc_nal

/// Start codes of pictures: of MPEG-1 and MPEG-2 (6.2.3 of H.262), and of MPEG-4 (6.2.5 of ISO 14496-2).
inline constexpr unsigned kMpegPicture = 0x00, kMpeg4Vop = 0xb6;

/// An MPEG-4 VOP that codes nothing ("N-VOP", a repeated frame) is a few bytes long and may give no frame.
inline constexpr std::size_t kSmallestMpeg4Picture = 32;

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
