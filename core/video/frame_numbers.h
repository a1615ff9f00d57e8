// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tricodec {

/// Ascending, each once.
[[nodiscard]] inline std::vector<std::int64_t> sorted_distinct(std::span<const std::int64_t> indices) {
    std::vector<std::int64_t> numbers(indices.begin(), indices.end());
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

}  // namespace tricodec
