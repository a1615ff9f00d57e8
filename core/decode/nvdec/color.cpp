// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/color.h"

namespace tricodec::nvdec {

std::optional<ColorDescription> vp8_color(std::span<const std::byte> packet) noexcept {
    constexpr std::size_t kKeyFrameHeader = 10;  // frame tag, start code, size
    if (packet.size() < kKeyFrameHeader + 2 || (std::to_integer<unsigned>(packet[0]) & 1u) != 0) return std::nullopt;
    // The first two bools of the first partition, of even odds: color_space, clamping_type.
    unsigned value = std::to_integer<unsigned>(packet[10]) << 8 | std::to_integer<unsigned>(packet[11]);
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

SequenceColor sequence_color(const CUVIDEOFORMAT& format, SequenceColor before) noexcept {
    const auto& signal = format.video_signal_description;
    // The numbers are those of H.273 on both sides; what we have no name for passes through as its number.
    ColorDescription color;
    color.matrix = static_cast<ColorMatrix>(signal.matrix_coefficients);
    color.primaries = static_cast<ColorPrimaries>(signal.color_primaries);
    color.transfer = static_cast<ColorTransfer>(signal.transfer_characteristics);
    // Not full is also what a silent header gives; unspecified is limited in all that follows.
    color.range = signal.video_full_range_flag != 0 ? ColorRange::full : ColorRange::unspecified;
    if (!before.first) {
        before.first = color;
    } else if (color != *before.first || before.changed) {
        before.changed = color;
    }
    return before;
}

}  // namespace tricodec::nvdec
