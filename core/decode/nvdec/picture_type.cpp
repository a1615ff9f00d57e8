// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/picture_type.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bitstream/nal.h"
#include "io/bit_reader.h"

namespace tricodec::nvdec {
namespace {

/// The first slice without its start code; empty if there is none.
std::span<const unsigned char> first_slice(const CUVIDPICPARAMS& picture) {
    if (picture.nNumSlices == 0 || picture.pBitstreamData == nullptr || picture.pSliceDataOffsets == nullptr) return {};
    std::size_t at = picture.pSliceDataOffsets[0];
    const std::size_t size = picture.nBitstreamDataLen;
    while (at < size && picture.pBitstreamData[at] == 0) ++at;
    if (at >= size || picture.pBitstreamData[at] != 1) return {};
    ++at;
    return {picture.pBitstreamData + at, size - at};
}

/// The first fields of a slice without its NAL header.
std::vector<std::uint8_t> first_fields(std::span<const unsigned char> slice) {
    constexpr std::size_t kMostBytes = 64;
    return nal_payload(std::as_bytes(slice.first(std::min(slice.size(), kMostBytes))));
}

char h264_type(const CUVIDPICPARAMS& picture) {
    const auto slice = first_slice(picture);
    if (slice.size() < 2) return '?';
    const auto fields = first_fields(slice.subspan(1));
    BitReader bits(fields);
    (void)bits.exp_golomb();  // first_mb_in_slice
    constexpr char kTypes[] = {'P', 'B', 'I', '?', '?'};
    return kTypes[bits.exp_golomb() % 5];
}

bool is_hevc_irap(std::span<const unsigned char> slice) {
    return hevc_nal::is_irap(hevc_nal::type_of(unsigned{slice[0]}));
}

char hevc_type(const CUVIDPICPARAMS& picture) {
    const auto slice = first_slice(picture);
    if (slice.size() < 3) return '?';
    const auto fields = first_fields(slice.subspan(2));
    BitReader bits(fields);
    if (!bits.flag()) return '?';           // first_slice_segment_in_pic_flag
    if (is_hevc_irap(slice)) bits.skip(1);  // no_output_of_prior_pics_flag
    (void)bits.exp_golomb();                // slice_pic_parameter_set_id
    bits.skip(picture.CodecSpecific.hevc.num_extra_slice_header_bits);
    constexpr char kTypes[] = {'B', 'P', 'I'};
    const unsigned type = bits.exp_golomb();
    return type < 3 ? kTypes[type] : '?';
}

}  // namespace

std::optional<unsigned> picture_parameter_set(const CUVIDPICPARAMS& picture, cudaVideoCodec codec) {
    const auto slice = first_slice(picture);
    const bool hevc = codec == cudaVideoCodec_HEVC;
    if (slice.size() < 3) return std::nullopt;
    const auto fields = first_fields(slice.subspan(hevc ? 2 : 1));
    BitReader bits(fields);
    if (hevc) {
        bits.skip(is_hevc_irap(slice) ? 2 : 1);  // first_slice_segment_in_pic_flag, no_output_of_prior_...
    } else {
        (void)bits.exp_golomb();  // first_mb_in_slice
        (void)bits.exp_golomb();  // slice_type
    }
    return bits.exp_golomb();
}

bool is_random_access_point(const CUVIDPICPARAMS& picture, cudaVideoCodec codec) {
    if (codec != cudaVideoCodec_H264 && codec != cudaVideoCodec_HEVC) return picture.intra_pic_flag != 0;
    const auto slice = first_slice(picture);
    if (slice.empty()) return false;
    return codec == cudaVideoCodec_H264 ? h264_nal::type_of(unsigned{slice[0]}) == h264_nal::kIdr : is_hevc_irap(slice);
}

char picture_type(const CUVIDPICPARAMS& picture, cudaVideoCodec codec) {
    switch (codec) {
        case cudaVideoCodec_H264:
            return h264_type(picture);
        case cudaVideoCodec_HEVC:
            return hevc_type(picture);
        case cudaVideoCodec_MPEG1:
        case cudaVideoCodec_MPEG2: {
            const int type = picture.CodecSpecific.mpeg2.picture_coding_type;  // I_FRAME..B_FRAME of the standard
            return type >= 1 && type <= 3 ? "IPB"[type - 1] : '?';
        }
        case cudaVideoCodec_MPEG4: {
            const int type = picture.CodecSpecific.mpeg4.vop_coding_type;
            return type >= 0 && type <= 2 ? "IPB"[type] : '?';
        }
        case cudaVideoCodec_VC1:
            return picture.intra_pic_flag != 0 ? 'I' : '?';
        default:
            return picture.intra_pic_flag != 0 ? 'I' : 'P';
    }
}

}  // namespace tricodec::nvdec
