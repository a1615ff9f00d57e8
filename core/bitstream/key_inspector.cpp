// SPDX-License-Identifier: Apache-2.0
#include "bitstream/key_inspector.h"

#include <algorithm>

#include "bitstream/nal.h"
#include "bitstream/vp9_frames.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/stream_info.h"
#include "io/bit_reader.h"

namespace tricodec {
namespace {

/// The unit that a packet's first picture begins with; empty if there is none.
Bytes first_picture(const std::vector<Bytes>& units) {
    return units.empty() ? Bytes{} : units.back();
}

bool is_hevc_irap(Bytes slice) {
    return !slice.empty() && hevc_nal::is_irap(hevc_nal::type_of(slice));
}

/// picture_coding_type of MPEG-1 and MPEG-2 follows the 10 bits of temporal_reference (6.2.3 of H.262).
bool is_mpeg_intra(Bytes picture) {
    return picture.size() > 2 && byte_at(picture, 0) == kMpegPicture && (byte_at(picture, 2) >> 3 & 7) == 1;
}

/// vop_coding_type (6.2.5 of ISO 14496-2).
bool is_mpeg4_intra(Bytes vop) {
    return vop.size() > 1 && byte_at(vop, 0) == kMpeg4Vop && byte_at(vop, 1) >> 6 == 0;
}

/// The picture coding type of PTYPE, or of MPPTYPE where PLUSPTYPE extends it (5.1.3 and 5.1.4 of H.263).
bool is_h263_intra(Bytes picture) {
    constexpr unsigned kStartBits = 22, kReferenceBits = 8, kFlagBits = 5, kExtended = 7, kOptionBits = 18;
    BitReader bits({reinterpret_cast<const std::uint8_t*>(picture.data()), picture.size()});
    bits.skip(kStartBits + kReferenceBits + kFlagBits);
    if (bits.bits(3) != kExtended) return !bits.flag();
    if (bits.bits(3) == 1) bits.skip(kOptionBits);
    return bits.bits(3) == 0;
}

/// Nothing if the header of the key frame is cut.
std::optional<ColorDescription> read_vp8_color(Bytes key_frame) {
    constexpr std::size_t kHeaderBytes = 10;  // frame tag, start code, size
    if (key_frame.size() < kHeaderBytes + 2) return std::nullopt;
    // The first two bools of the first partition, of even odds: color_space, clamping_type.
    unsigned value = byte_at(key_frame, kHeaderBytes) << 8 | byte_at(key_frame, kHeaderBytes + 1);
    unsigned range = 255;
    const auto read_bool = [&] {
        const unsigned split = 1 + ((range - 1) * 128 >> 8);
        const bool one = value >= split << 8;
        range = one ? range - split : split;
        if (one) value -= split << 8;
        while (range < 128) {
            range <<= 1;
            value <<= 1;
        }
        return one;
    };
    (void)read_bool();
    ColorDescription color;
    color.matrix = ColorMatrix::bt470bg;
    color.range = read_bool() ? ColorRange::full : ColorRange::limited;
    return color;
}

}  // namespace

KeyInspector::KeyInspector(const StreamInfo& stream) : codec_(stream.codec), parameters_(stream.parameters) {
    const Bytes extradata = extradata_of(stream.parameters.get());
    length_size_ = nal_length_size(codec_, extradata);
    if (codec_ == CodecId::av1) av1_units_.emplace(extradata);
}

bool KeyInspector::is_key(const Packet& packet) {
    const auto data = packet.data;
    if (data.empty()) return false;
    switch (codec_) {
        case CodecId::h264:
            return is_h264_key(data);
        case CodecId::hevc:
            return is_hevc_irap(first_picture(inspect_units(data)));
        case CodecId::vp8: {
            const bool key = (byte_at(data, 0) & 1) == 0;
            if (const auto color = key ? read_vp8_color(data) : std::nullopt) vp8_color_ = color;
            return key;
        }
        case CodecId::vp9: {
            const auto header = parse_vp9_header(data);
            return header && header->key;
        }
        case CodecId::av1:
            return av1_units_->inspect(data).key;
        case CodecId::mpeg1:
        case CodecId::mpeg2:
            return is_mpeg_intra(first_picture(nals_to_picture(data, 0, codec_)));
        case CodecId::mpeg4:
            return data.size() >= kSmallestMpeg4Picture &&
                   is_mpeg4_intra(first_picture(nals_to_picture(data, 0, codec_)));
        case CodecId::mjpeg:
            return true;
        default:
            break;
    }
    // Containers without flags of their own say that every packet of these is a key frame.
    const auto id = parameters_ ? parameters_->codec_id : AV_CODEC_ID_NONE;
    if (id == AV_CODEC_ID_H261) return false;  // the standard has only macroblocks that are intra coded
    return packet.key && (id != AV_CODEC_ID_H263 || is_h263_intra(data));
}

std::vector<Bytes> KeyInspector::inspect_units(Bytes packet) {
    auto units = nals_to_picture(packet, length_size_, codec_);
    const Bytes known = extradata_of(parameters_.get());
    for (const auto nal : units) {
        if (!is_parameter_set(codec_, nal) || has_other_headers_) continue;
        has_other_headers_ = std::ranges::search(known, nal).empty();
    }
    return units;
}

bool KeyInspector::is_h264_key(Bytes packet) {
    bool recovers_at_once = false;
    unsigned type = 0;
    for (const auto nal : inspect_units(packet)) {
        if (nal.empty()) continue;
        type = h264_nal::type_of(nal);
        recovers_at_once = recovers_at_once || (type == h264_nal::kSei && h264_recovery_frame_count(nal) == 0);
    }
    return type == h264_nal::kIdr || (h264_nal::is_slice(type) && recovers_at_once);
}

}  // namespace tricodec
