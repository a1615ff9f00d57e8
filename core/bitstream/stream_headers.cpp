// SPDX-License-Identifier: Apache-2.0
#include "bitstream/stream_headers.h"

#include <algorithm>
#include <bit>

#include "bitstream/nal.h"
#include "bitstream/sps.h"
#include "bitstream/vp9_frames.h"
#include "ffmpeg/stream_info.h"
#include "io/bit_reader.h"

namespace tricodec {
namespace {

constexpr int kConstrainedBaseline = 1 << 9;  // as libavcodec marks them in `profile`
constexpr int kIntraOnly = 1 << 11;
constexpr int kMatrixRgb = 0;
/// By VP9's color_space.
constexpr AVColorSpace kVp9Matrices[] = {AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_BT470BG,   AVCOL_SPC_BT709,
                                         AVCOL_SPC_SMPTE170M,   AVCOL_SPC_SMPTE240M, AVCOL_SPC_BT2020_NCL,
                                         AVCOL_SPC_RESERVED,    AVCOL_SPC_RGB};

AVPixelFormat h264_format(const H264Sps& sps) {
    // By chroma_format_idc - 1, for 8 bits, 8 bits of full range, and 10 bits.
    constexpr AVPixelFormat kFormats[3][3] = {{AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P},
                                              {AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P},
                                              {AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10}};
    const bool is_known_depth = sps.luma_depth == 8 || sps.luma_depth == 10;
    if (!is_known_depth || sps.chroma_format_idc < 1 || sps.chroma_format_idc > 3) return AV_PIX_FMT_NONE;
    return kFormats[sps.luma_depth == 10 ? 2 : sps.full_range ? 1 : 0][sps.chroma_format_idc - 1];
}

int h264_profile(const H264Sps& sps) {
    const int profile = sps.profile_idc;
    if (profile == 66 && (sps.constraint_flags & 2) != 0) return profile | kConstrainedBaseline;
    const bool has_intra_kind = profile == 110 || profile == 122 || profile == 244;
    return has_intra_kind && (sps.constraint_flags & 8) != 0 ? profile | kIntraOnly : profile;
}

/// Containers may cut the decoder's last columns and rows; libavcodec follows them where only padding is cut.
void set_h264_size(const H264Sps& sps, AVCodecParameters& parameters) {
    const auto blocks = [](int samples) { return (samples + 15) / 16; };
    int width = sps.coded_width - sps.crop_left - sps.crop_right;
    int height = sps.coded_height - sps.crop_top - sps.crop_bottom;
    const bool padding_only = parameters.width > 0 && parameters.height > 0 && sps.crop_left == 0 &&
                              sps.crop_top == 0 && blocks(parameters.width) == blocks(width) &&
                              blocks(parameters.height) == blocks(height) && parameters.width <= width &&
                              parameters.height <= height;
    if (padding_only) return;
    parameters.width = width;
    parameters.height = height;
}

void tell_h264(const H264Sps& sps, AVCodecParameters& parameters) {
    const auto format = h264_format(sps);
    const bool plain = format != AV_PIX_FMT_NONE && sps.luma_depth == sps.chroma_depth && !sps.separate_planes &&
                       sps.frames_only && !(sps.has_color && sps.matrix == kMatrixRgb);
    // Without the restriction, only decoding shows how far pictures are reordered; none at all is found by decoding
    // too, unless the profile has no B pictures.
    if (!plain || sps.num_reorder_frames < 0 || sps.num_reorder_frames > 16) return;
    parameters.format = format;
    parameters.profile = h264_profile(sps);
    parameters.level = sps.level_idc;
    parameters.bits_per_raw_sample = sps.luma_depth;
    parameters.field_order = AV_FIELD_PROGRESSIVE;
    parameters.video_delay = std::max(parameters.video_delay, sps.num_reorder_frames);
    set_h264_size(sps, parameters);
    if (sps.sar_num > 0 && sps.sar_den > 0) {
        av_reduce(&parameters.sample_aspect_ratio.num, &parameters.sample_aspect_ratio.den, sps.sar_num, sps.sar_den,
                  1 << 16);
    }
    if (sps.has_signal_type) parameters.color_range = sps.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    if (sps.has_color) {
        // A header may have any byte; one that is no enumerator may not become the enumeration.
        const auto known = [](int value, auto end, auto unspecified, const char* (*name)(decltype(end))) {
            const bool is_known = value < static_cast<int>(end) && name(static_cast<decltype(end)>(value)) != nullptr;
            return is_known ? static_cast<decltype(end)>(value) : unspecified;
        };
        parameters.color_primaries = known(sps.primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED, av_color_primaries_name);
        parameters.color_trc = known(sps.transfer, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED, av_color_transfer_name);
        parameters.color_space = known(sps.matrix, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED, av_color_space_name);
    }
    parameters.chroma_location = sps.chroma_location <= AVCHROMA_LOC_NB - 2
                                     ? static_cast<AVChromaLocation>(sps.chroma_location + 1)
                                     : AVCHROMA_LOC_LEFT;
}

AVPixelFormat vp9_format(const Vp9Header& header) {
    // By subsampled_x * 2 + subsampled_y, for 8, 10 and 12 bits.
    constexpr AVPixelFormat kFormats[3][4] = {
        {AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV420P},
        {AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV440P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV420P10},
        {AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV440P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV420P12}};
    constexpr AVPixelFormat kRgbFormats[3] = {AV_PIX_FMT_GBRP, AV_PIX_FMT_GBRP10, AV_PIX_FMT_GBRP12};
    const int depth = (header.depth - 8) / 2;
    if (kVp9Matrices[header.color_space] == AVCOL_SPC_RGB) return kRgbFormats[depth];
    return kFormats[depth][header.subsampled_x * 2 + header.subsampled_y];
}

/// The uncompressed header of a key frame.
void tell_vp9(Bytes packet, AVCodecParameters& parameters) {
    const auto header = parse_vp9_header(packet);
    if (!header || !header->key) return;
    parameters.format = vp9_format(*header);
    parameters.profile = static_cast<int>(header->profile);
    parameters.width = header->width;
    parameters.height = header->height;
    parameters.color_space = kVp9Matrices[header->color_space];
    parameters.color_range = header->full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

}  // namespace

bool needs_packet_headers(const AVStream& stream) noexcept {
    return stream.codecpar->codec_id == AV_CODEC_ID_VP9 && stream.codecpar->format == AV_PIX_FMT_NONE;
}

bool knows_pictures(const AVStream& stream) noexcept {
    return stream.codecpar->format != AV_PIX_FMT_NONE && stream.codecpar->width > 0;
}

void tell_headers(AVStream& stream, Bytes packet) {
    auto& parameters = *stream.codecpar;
    if (parameters.format != AV_PIX_FMT_NONE) return;
    if (parameters.codec_id == AV_CODEC_ID_H264 && parameters.extradata_size > 0) {
        if (const auto sps = only_h264_sps(extradata_of(&parameters))) tell_h264(*sps, parameters);
    }
    if (parameters.codec_id == AV_CODEC_ID_VP9 && !packet.empty()) tell_vp9(packet, parameters);
}

namespace {

/// The flag `interlaced` of the header of a layer (VOL; 6.2.3 of ISO 14496-2), which is after the start code. False if
/// the header is cut, or of the studio profiles, which libavcodec decodes by other means.
bool is_interlaced(Bytes unit) {
    constexpr std::uint32_t kSimpleStudio = 0x0e, kCoreStudio = 0x0f, kExtendedAspect = 15, kGrayscale = 3;
    BitReader bits({reinterpret_cast<const std::uint8_t*>(unit.data()) + 1, unit.size() - 1});
    bits.skip(1);  // random_accessible_vol
    const auto type = bits.bits(8);
    if (type == kSimpleStudio || type == kCoreStudio) return false;
    std::uint32_t version = 1;
    if (bits.flag()) {  // is_object_layer_identifier
        version = bits.bits(4);
        bits.skip(3);  // priority
    }
    if (bits.bits(4) == kExtendedAspect) bits.skip(8 + 8);
    if (bits.flag()) {                   // vol_control_parameters
        bits.skip(2 + 1);                // chroma_format, low_delay
        if (bits.flag()) bits.skip(79);  // vbv_parameters
    }
    const auto shape = bits.bits(2);
    if (shape == kGrayscale && version != 1) bits.skip(4);
    bits.skip(1);  // a marker
    const auto resolution = bits.bits(16);
    bits.skip(1);                                                                     // a marker
    if (bits.flag()) bits.skip(resolution > 1 ? std::bit_width(resolution - 1) : 1);  // fixed_vop_rate
    if (shape == 0) bits.skip(1 + 13 + 1 + 13 + 1);  // of a rectangle: width and height, between markers
    return bits.flag() && bits.ok();
}

}  // namespace

bool is_decoded_by_one_thread(const StreamInfo& stream) {
    constexpr unsigned kFirstLayer = 0x20, kLastLayer = 0x2f;  // start codes of VOL
    if (stream.codec != CodecId::mpeg4) return false;
    bool interlaced = false;
    for (const auto unit : nals_to_picture(extradata_of(stream.parameters.get()), 0, CodecId::mpeg4)) {
        if (unit.empty() || byte_at(unit, 0) < kFirstLayer || byte_at(unit, 0) > kLastLayer) continue;
        interlaced = is_interlaced(unit);
    }
    return interlaced;
}

}  // namespace tricodec
