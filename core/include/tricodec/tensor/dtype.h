// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tricodec {

/// Element types of tensors. Names are numpy's; bfloat16, which numpy lacks, is the upper half of a float32.
enum class DType : std::uint8_t { uint8, uint16, int16, int32, int64, float16, float32, float64, bfloat16 };

inline constexpr int kNumDTypes = 9;

[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
    constexpr std::size_t kSizes[kNumDTypes] = {1, 2, 2, 4, 8, 2, 4, 8, 2};
    return kSizes[static_cast<std::size_t>(dtype)];
}

[[nodiscard]] std::string_view to_string(DType dtype) noexcept;

/// Throws Error(invalid_argument) listing the accepted names.
[[nodiscard]] DType parse_dtype(std::string_view name);

}  // namespace tricodec
