// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/rational.h"

#include <cmath>
#include <string>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::int64_t kMostDenominator = 1001;

/// The nearest fraction to a positive number: of the convergents of its continued fraction, and of what lies between
/// the last two.
Rational nearest(double value) {
    std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    double rest = value;
    while (true) {
        const auto whole = static_cast<std::int64_t>(std::floor(rest));
        const std::int64_t q2 = q0 + whole * q1;
        if (q2 > kMostDenominator) break;
        const std::int64_t p2 = p0 + whole * p1;
        p0 = p1, q0 = q1, p1 = p2, q1 = q2;
        const double left = rest - static_cast<double>(whole);
        if (left < 1e-9) return {p1, q1};
        rest = 1 / left;
    }
    const std::int64_t k = (kMostDenominator - q0) / q1;
    const Rational between{p0 + k * p1, q0 + k * q1};
    const Rational last{p1, q1};
    return std::abs(last.to_double() - value) <= std::abs(between.to_double() - value) ? last : between;
}

}  // namespace

Rational frame_rate_of(double frames_per_second) {
    TRICODEC_EXPECT(frames_per_second >= 1.0 / kMostDenominator && frames_per_second <= 1e6, invalid_argument,
                    "frame_rate is " + std::to_string(frames_per_second) +
                        "; it must be a positive number of frames per second, 1/1001 to 1000000");
    const double ntsc = std::round(frames_per_second * 1.001);
    const bool fractional = std::abs(frames_per_second - std::round(frames_per_second)) > 1e-6;
    if (fractional && std::abs(ntsc / 1.001 - frames_per_second) < 0.005) {
        return {static_cast<std::int64_t>(ntsc) * 1000, 1001};
    }
    return nearest(frames_per_second);
}

}  // namespace tricodec
