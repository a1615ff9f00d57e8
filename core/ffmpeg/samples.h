// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "tricodec/tensor/dtype.h"

namespace tricodec {

/// The element type of a sample format, interleaved or planar; nothing for formats that have no array.
[[nodiscard]] inline std::optional<DType> sample_dtype(AVSampleFormat format) noexcept {
    constexpr std::pair<AVSampleFormat, DType> kTypes[] = {
        {AV_SAMPLE_FMT_U8, DType::uint8},  {AV_SAMPLE_FMT_S16, DType::int16},   {AV_SAMPLE_FMT_S32, DType::int32},
        {AV_SAMPLE_FMT_S64, DType::int64}, {AV_SAMPLE_FMT_FLT, DType::float32}, {AV_SAMPLE_FMT_DBL, DType::float64}};
    for (const auto& [packed, dtype] : kTypes) {
        if (packed == av_get_packed_sample_fmt(format)) return dtype;
    }
    return std::nullopt;
}

/// Copies `count` elements of 1, 2, 4 or 8 bytes from places `from_step` bytes apart to places `to_step` bytes apart.
void copy_elements(std::size_t element_bytes, const std::byte* from, std::int64_t from_step, std::byte* to,
                   std::int64_t to_step, std::int64_t count);

}  // namespace tricodec
