// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "decode/nvdec/cuvid.h"
#include "tricodec/tensor/color.h"

namespace tricodec::nvdec {

/// The color description of the sequence that is being decoded.
///
/// NVDEC's parser does not say which fields the bitstream left out, so the demuxer's reading of the same headers
/// counts, until the parser's changes: then the headers have.
struct SequenceColor {
    std::optional<ColorDescription> first;    // the parser's, of the first sequence
    std::optional<ColorDescription> changed;  // the parser's, once it is another

    [[nodiscard]] ColorDescription color(const ColorDescription& of_stream) const noexcept {
        if (changed) return *changed;
        return of_stream == ColorDescription{} && first ? *first : of_stream;
    }
};

[[nodiscard]] SequenceColor sequence_color(const CUVIDEOFORMAT& format, SequenceColor before) noexcept;

}  // namespace tricodec::nvdec
