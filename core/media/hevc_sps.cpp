// SPDX-License-Identifier: Apache-2.0
#include "media/hevc_sps.h"

#include "media/bit_reader.h"

namespace tricodec {
namespace {

constexpr unsigned kSpsType = 33;
constexpr std::size_t kHeaderBytes = 2;
constexpr std::uint32_t kLargestSide = 1 << 16;

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

std::optional<HevcSps> parse_hevc_sps(Bytes nal) {
    if (nal.size() <= kHeaderBytes || (byte_at(nal, 0) >> 1 & 63) != kSpsType) return std::nullopt;
    const auto payload = nal_payload(nal.subspan(kHeaderBytes));
    BitReader bits(payload);
    bits.skip(4);  // id of the VPS
    const int num_sub_layers = static_cast<int>(bits.bits(3));
    bits.skip(1);
    skip_profile(bits, num_sub_layers);
    HevcSps sps;
    sps.id = bits.exp_golomb();
    const auto chroma_format = bits.exp_golomb();
    if (chroma_format == 3) bits.skip(1);
    const auto width = bits.exp_golomb();
    const auto height = bits.exp_golomb();
    if (width > kLargestSide || height > kLargestSide) return std::nullopt;
    sps.coded_width = static_cast<int>(width);
    sps.coded_height = static_cast<int>(height);
    if (bits.flag()) {
        const auto read = [&](std::uint32_t unit) {
            const auto count = bits.exp_golomb();
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
    return sps;
}

}  // namespace tricodec
