// SPDX-License-Identifier: Apache-2.0
#include "video/nvdec/picture_type.h"

#include <cstddef>
#include <span>

namespace tricodec::nvdec {
namespace {

/// Bits of a NAL unit's payload; past the end they are 0.
class BitReader {
public:
    explicit BitReader(std::span<const unsigned char> bytes) : bytes_(bytes) {}

    unsigned bit() {
        if (left_ == 0) next_byte();
        --left_;
        return current_ >> left_ & 1u;
    }
    void skip(int count) {
        while (count-- > 0) (void)bit();
    }
    /// ue(v) of H.264 and HEVC, clause 9.1 and 9.2. Values past 32 bits do not occur in the fields read here.
    unsigned exp_golomb() {
        int zeros = 0;
        while (zeros < 31 && position_ <= bytes_.size() && bit() == 0) ++zeros;
        unsigned value = 0;
        for (int i = 0; i < zeros; ++i) value = value << 1 | bit();
        return (1u << zeros) - 1 + value;
    }

private:
    void next_byte() {
        // 00 00 03 stands for 00 00 (emulation prevention).
        if (zeros_ >= 2 && position_ < bytes_.size() && bytes_[position_] == 3) {
            ++position_;
            zeros_ = 0;
        }
        current_ = position_ < bytes_.size() ? bytes_[position_] : 0u;
        ++position_;
        zeros_ = current_ == 0 ? zeros_ + 1 : 0;
        left_ = 8;
    }

    std::span<const unsigned char> bytes_;
    std::size_t position_ = 0;
    unsigned current_ = 0;
    int left_ = 0;
    int zeros_ = 0;
};

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

char h264_type(const CUVIDPICPARAMS& picture) {
    const auto slice = first_slice(picture);
    if (slice.size() < 2) return '?';
    BitReader bits(slice.subspan(1));
    (void)bits.exp_golomb();  // first_mb_in_slice
    constexpr char kTypes[] = {'P', 'B', 'I', '?', '?'};
    return kTypes[bits.exp_golomb() % 5];
}

unsigned hevc_nal_type(unsigned char header) {
    return header >> 1 & 0x3fu;
}

constexpr bool is_irap(unsigned nal_type) {
    return nal_type >= 16 && nal_type <= 23;
}

char hevc_type(const CUVIDPICPARAMS& picture) {
    const auto slice = first_slice(picture);
    if (slice.size() < 3) return '?';
    BitReader bits(slice.subspan(2));
    if (bits.bit() == 0) return '?';                     // first_slice_segment_in_pic_flag
    if (is_irap(hevc_nal_type(slice[0]))) bits.skip(1);  // no_output_of_prior_pics_flag
    (void)bits.exp_golomb();                             // slice_pic_parameter_set_id
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
    BitReader bits(slice.subspan(hevc ? 2 : 1));
    if (hevc) {
        bits.skip(is_irap(hevc_nal_type(slice[0])) ? 2 : 1);  // first_slice_segment_in_pic_flag, no_output_of_prior_...
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
    constexpr unsigned kIdrSlice = 5;
    return codec == cudaVideoCodec_H264 ? (slice[0] & 0x1fu) == kIdrSlice : is_irap(hevc_nal_type(slice[0]));
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
