// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace tricodec {

/// A fraction; `den` 0 means unknown.
struct Rational {
    std::int64_t num = 0;
    std::int64_t den = 0;

    [[nodiscard]] constexpr bool known() const noexcept { return den != 0; }
    [[nodiscard]] constexpr double to_double() const noexcept {
        return den == 0 ? 0.0 : static_cast<double>(num) / static_cast<double>(den);
    }
    friend bool operator==(const Rational&, const Rational&) = default;
};

/// Frames per second as a fraction: 29.97 and 23.976 are short for 30000/1001 and 24000/1001, others become the nearest
/// fraction with a denominator of at most 1001. Throws Error(invalid_argument) for what is no rate.
[[nodiscard]] Rational frame_rate_of(double frames_per_second);

/// A time stamp that the container does not give.
inline constexpr std::int64_t kNoTimestamp = std::numeric_limits<std::int64_t>::min();

}  // namespace tricodec
