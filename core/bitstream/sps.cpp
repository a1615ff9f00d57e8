// SPDX-License-Identifier: Apache-2.0
#include "bitstream/sps.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "bitstream/nal.h"
#include "io/bit_reader.h"

namespace tricodec {
namespace {

constexpr int kExtendedSar = 255;
constexpr int kLargestSide = 1 << 16;

/// Table E-1: widths and heights of samples.
constexpr std::array<int, 17> kAspectWidths = {0, 1, 12, 10, 16, 40, 24, 20, 32, 80, 18, 15, 64, 160, 4, 3, 2};
constexpr std::array<int, 17> kAspectHeights = {1, 1, 11, 11, 11, 33, 11, 11, 11, 33, 11, 11, 33, 99, 3, 2, 1};

/// Profiles with chroma format and depth in the SPS.
bool has_chroma_fields(int profile) {
    constexpr int kProfiles[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
    return std::ranges::find(kProfiles, profile) != std::end(kProfiles);
}

void skip_scaling_list(BitReader& bits, int size) {
    int last = 8;
    int next = 8;
    for (int i = 0; i < size && bits.ok(); ++i) {
        if (next != 0) next = static_cast<int>((last + std::int64_t{bits.signed_exp_golomb()}) & 255);
        if (next != 0) last = next;
    }
}

void skip_hrd(BitReader& bits) {
    const auto count = bits.exp_golomb() + 1;
    bits.skip(8);
    for (std::uint32_t i = 0; i < count && bits.ok(); ++i) {
        bits.exp_golomb();
        bits.exp_golomb();
        bits.skip(1);
    }
    bits.skip(20);
}

/// A number of frames in a decoder's memory; a larger one is damaged.
int frame_count(std::uint32_t value) noexcept {
    constexpr std::uint32_t kMostFrames = 16;
    return static_cast<int>(std::min(value, kMostFrames));
}

void read_vui(BitReader& bits, H264Sps& sps) {
    if (bits.flag()) {
        const auto kind = bits.bits(8);
        if (kind == kExtendedSar) {
            sps.sar_num = static_cast<int>(bits.bits(16));
            sps.sar_den = static_cast<int>(bits.bits(16));
        } else if (kind < kAspectWidths.size()) {
            sps.sar_num = kAspectWidths[kind];
            sps.sar_den = kAspectHeights[kind];
        }
    }
    if (bits.flag()) bits.skip(1);  // overscan
    sps.has_signal_type = bits.flag();
    if (sps.has_signal_type) {
        bits.skip(3);
        sps.full_range = bits.flag();
        sps.has_color = bits.flag();
        if (sps.has_color) {
            sps.primaries = static_cast<int>(bits.bits(8));
            sps.transfer = static_cast<int>(bits.bits(8));
            sps.matrix = static_cast<int>(bits.bits(8));
        }
    }
    if (bits.flag()) {
        sps.chroma_location = static_cast<int>(bits.exp_golomb());
        bits.exp_golomb();
    }
    if (bits.flag()) bits.skip(65);  // timing
    const bool nal_hrd = bits.flag();
    if (nal_hrd) skip_hrd(bits);
    const bool vcl_hrd = bits.flag();
    if (vcl_hrd) skip_hrd(bits);
    if (nal_hrd || vcl_hrd) bits.skip(1);
    bits.skip(1);  // picture structure in SEI
    if (bits.flag()) {
        bits.skip(1);
        for (int i = 0; i < 4; ++i) bits.exp_golomb();
        sps.num_reorder_frames = static_cast<int>(bits.exp_golomb());
        sps.num_kept_frames = std::max(sps.num_kept_frames, frame_count(bits.exp_golomb()));
    }
}

void skip_picture_order(BitReader& bits) {
    const auto kind = bits.exp_golomb();
    if (kind == 0) bits.exp_golomb();
    if (kind != 1) return;
    bits.skip(1);
    bits.signed_exp_golomb();
    bits.signed_exp_golomb();
    const auto cycle = bits.exp_golomb();
    for (std::uint32_t i = 0; i < cycle && bits.ok(); ++i) bits.signed_exp_golomb();
}

void read_size(BitReader& bits, H264Sps& sps) {
    const auto width_mbs = std::int64_t{bits.exp_golomb()} + 1;
    const auto height_units = std::int64_t{bits.exp_golomb()} + 1;
    sps.frames_only = bits.flag();
    if (!sps.frames_only) bits.skip(1);
    bits.skip(1);
    const auto height = height_units * 16 * (sps.frames_only ? 1 : 2);
    if (width_mbs * 16 <= kLargestSide && height <= kLargestSide) {
        sps.coded_width = static_cast<int>(width_mbs * 16);
        sps.coded_height = static_cast<int>(height);
    }
    if (!bits.flag()) return;
    const bool monochrome = sps.chroma_format_idc == 0 || sps.separate_planes;
    const int unit_x = !monochrome && sps.chroma_format_idc < 3 ? 2 : 1;
    const int unit_y = (!monochrome && sps.chroma_format_idc < 2 ? 2 : 1) * (sps.frames_only ? 1 : 2);
    const auto in_samples = [&](int unit) {
        const auto count = std::int64_t{bits.exp_golomb()} * unit;
        return static_cast<int>(count > kLargestSide ? kLargestSide : count);
    };
    sps.crop_left = in_samples(unit_x);
    sps.crop_right = in_samples(unit_x);
    sps.crop_top = in_samples(unit_y);
    sps.crop_bottom = in_samples(unit_y);
}

/// profile_tier_level() (7.3.3).
void skip_profile(BitReader& bits, int num_sub_layers) {
    constexpr int kProfileBits = 88;
    constexpr int kLevelBits = 8;
    bits.skip(kProfileBits);
    bits.skip(kLevelBits);
    if (num_sub_layers == 0) return;
    const auto present = bits.bits(16);  // two flags for each of eight layers
    for (int layer = 0; layer < num_sub_layers; ++layer) {
        if ((present >> (15 - 2 * layer) & 1) != 0) bits.skip(kProfileBits);
        if ((present >> (14 - 2 * layer) & 1) != 0) bits.skip(kLevelBits);
    }
}

}  // namespace

void for_each_hevc_unit(Bytes extradata, const std::function<void(Bytes nal)>& visit) {
    if (nal_length_size(CodecId::hevc, extradata) == 0) {
        for_each_nal(extradata, 0, visit);
        return;
    }
    // Arrays of units of one type: a byte, the number of units, and each unit after its length.
    constexpr std::size_t kNumArraysAt = 22;
    if (extradata.size() <= kNumArraysAt) return;
    auto rest = extradata.subspan(kNumArraysAt + 1);
    for (auto arrays = byte_at(extradata, kNumArraysAt); arrays > 0 && rest.size() >= 3; --arrays) {
        auto units = big_endian(rest.subspan(1, 2));
        rest = rest.subspan(3);
        for (; units > 0 && rest.size() >= 2; --units) {
            const auto length = static_cast<std::size_t>(big_endian(rest.subspan(0, 2)));
            if (length > rest.size() - 2) return;
            visit(rest.subspan(2, length));
            rest = rest.subspan(2 + length);
        }
    }
}

std::optional<H264Sps> parse_h264_sps(Bytes nal) {
    if (nal.size() < 4 || h264_nal::type_of(nal) != h264_nal::kSps) return std::nullopt;
    const auto payload = nal_payload(nal.subspan(1));
    BitReader bits(payload);
    H264Sps sps;
    sps.profile_idc = static_cast<int>(bits.bits(8));
    for (unsigned i = 0; i < 6; ++i) sps.constraint_flags |= static_cast<unsigned>(bits.flag()) << i;
    bits.skip(2);
    sps.level_idc = static_cast<int>(bits.bits(8));
    sps.id = bits.exp_golomb();
    if (has_chroma_fields(sps.profile_idc)) {
        sps.chroma_format_idc = static_cast<int>(bits.exp_golomb());
        if (sps.chroma_format_idc > 3) return std::nullopt;
        if (sps.chroma_format_idc == 3) sps.separate_planes = bits.flag();
        sps.luma_depth = static_cast<int>(bits.exp_golomb()) + 8;
        sps.chroma_depth = static_cast<int>(bits.exp_golomb()) + 8;
        bits.skip(1);
        if (bits.flag()) {
            for (int i = 0; i < (sps.chroma_format_idc == 3 ? 12 : 8); ++i) {
                if (bits.flag()) skip_scaling_list(bits, i < 6 ? 16 : 64);
            }
        }
    }
    bits.exp_golomb();  // bits of frame_num
    skip_picture_order(bits);
    sps.num_kept_frames = frame_count(bits.exp_golomb());
    bits.skip(1);  // gaps_in_frame_num_value_allowed_flag
    read_size(bits, sps);
    if (bits.flag()) read_vui(bits, sps);
    const bool sized =
        sps.coded_width > sps.crop_left + sps.crop_right && sps.coded_height > sps.crop_top + sps.crop_bottom;
    if (!bits.ok() || !sized) return std::nullopt;
    return sps;
}

std::optional<H264Sps> only_h264_sps(Bytes extradata) {
    if (nal_length_size(CodecId::h264, extradata) == 0) {
        std::optional<H264Sps> found;
        int count = 0;
        for_each_nal(extradata, 0, [&](Bytes nal) {
            if (h264_nal::type_of(nal) != h264_nal::kSps) return;
            ++count;
            found = parse_h264_sps(nal);
        });
        return count == 1 ? found : std::nullopt;
    }
    if (extradata.size() < 8 || (byte_at(extradata, 5) & 31) != 1) return std::nullopt;
    const auto length = static_cast<std::size_t>(big_endian(extradata.subspan(6, 2)));
    return length <= extradata.size() - 8 ? parse_h264_sps(extradata.subspan(8, length)) : std::nullopt;
}

std::optional<HevcSps> parse_hevc_sps(Bytes nal) {
    if (nal.size() <= hevc_nal::kHeaderBytes || hevc_nal::type_of(nal) != hevc_nal::kSps) return std::nullopt;
    const auto payload = nal_payload(nal.subspan(hevc_nal::kHeaderBytes));
    BitReader bits(payload);
    bits.skip(4);  // id of the VPS
    const int num_sub_layers = static_cast<int>(bits.bits(3));
    bits.skip(1);
    skip_profile(bits, num_sub_layers);
    HevcSps sps;
    sps.id = bits.exp_golomb();
    const auto chroma_format = bits.exp_golomb();
    if (chroma_format == 3) bits.skip(1);  // separate_colour_plane_flag
    const auto width = std::int64_t{bits.exp_golomb()};
    const auto height = std::int64_t{bits.exp_golomb()};
    if (width > kLargestSide || height > kLargestSide) return std::nullopt;
    sps.coded_width = static_cast<int>(width);
    sps.coded_height = static_cast<int>(height);
    if (bits.flag()) {
        const auto read = [&](std::uint32_t unit) {
            const auto count = std::int64_t{bits.exp_golomb()};
            return static_cast<int>(count > kLargestSide ? kLargestSide : count * unit);
        };
        const std::uint32_t unit_x = chroma_format == 1 || chroma_format == 2 ? 2 : 1;
        const std::uint32_t unit_y = chroma_format == 1 ? 2 : 1;
        sps.crop_left = read(unit_x);
        sps.crop_right = read(unit_x);
        sps.crop_top = read(unit_y);
        sps.crop_bottom = read(unit_y);
    }
    const bool sized =
        sps.coded_width > sps.crop_left + sps.crop_right && sps.coded_height > sps.crop_top + sps.crop_bottom;
    if (!bits.ok() || !sized) return std::nullopt;
    bits.exp_golomb();  // luma depth
    bits.exp_golomb();  // chroma depth
    bits.exp_golomb();  // bits of slice_pic_order_cnt_lsb
    const int first = bits.flag() ? 0 : num_sub_layers;
    int num_kept = 0;
    for (int layer = first; layer <= num_sub_layers && bits.ok(); ++layer) {
        num_kept = frame_count(bits.exp_golomb()) + 1;  // the highest layer's counts
        bits.exp_golomb();
        bits.exp_golomb();
    }
    if (bits.ok()) sps.num_kept_frames = num_kept;
    return sps;
}

std::optional<HevcSps> first_hevc_sps(Bytes extradata) {
    std::optional<HevcSps> found;
    for_each_hevc_unit(extradata, [&](Bytes nal) {
        if (!found) found = parse_hevc_sps(nal);
    });
    return found;
}

}  // namespace tricodec
