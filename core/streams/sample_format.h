// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <optional>

#include "tricodec/dtype.h"

namespace tricodec::streams {

/// The element type of samples of a format, interleaved or planar; nothing for formats that no array has.
[[nodiscard]] inline std::optional<DType> sample_dtype(AVSampleFormat format) noexcept {
    switch (av_get_packed_sample_fmt(format)) {
        case AV_SAMPLE_FMT_U8:
            return DType::uint8;
        case AV_SAMPLE_FMT_S16:
            return DType::int16;
        case AV_SAMPLE_FMT_S32:
            return DType::int32;
        case AV_SAMPLE_FMT_S64:
            return DType::int64;
        case AV_SAMPLE_FMT_FLT:
            return DType::float32;
        case AV_SAMPLE_FMT_DBL:
            return DType::float64;
        default:
            return std::nullopt;
    }
}

}  // namespace tricodec::streams
