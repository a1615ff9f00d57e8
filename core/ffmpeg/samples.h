// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tricodec/tensor/dtype.h"

namespace tricodec {

/// The element type of a sample format, interleaved or planar; nothing for formats that have no array.
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

/// Copies `count` elements of 1, 2, 4 or 8 bytes from places `from_step` bytes apart to places `to_step` bytes apart.
void copy_elements(std::size_t element_bytes, const std::byte* from, std::int64_t from_step, std::byte* to,
                   std::int64_t to_step, std::int64_t count);

}  // namespace tricodec
