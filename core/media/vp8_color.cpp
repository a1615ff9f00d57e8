// SPDX-License-Identifier: Apache-2.0
#include "media/vp8_color.h"

#include <cstddef>

namespace tricodec {

std::optional<ColorDescription> vp8_color(Bytes packet) noexcept {
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

}  // namespace tricodec
