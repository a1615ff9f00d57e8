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

/// A time stamp that the container does not give.
inline constexpr std::int64_t kNoTimestamp = std::numeric_limits<std::int64_t>::min();

}  // namespace tricodec
