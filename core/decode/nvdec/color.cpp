// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/color.h"

namespace tricodec::nvdec {

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
