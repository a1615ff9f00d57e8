// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tricodec {

/// Times of samples: stretches at the sample rate, each of which begins where the time stamps of the stream jump.
class SampleClock {
public:
    static constexpr double kJumpSeconds =
        0.1;  ///< as libswresample's; smaller differences are the container's rounding

    SampleClock(double start_seconds, int sample_rate) : stretches_{{0, start_seconds}}, rate_(sample_rate) {}

    [[nodiscard]] double start_seconds() const noexcept { return stretches_.front().seconds; }
    [[nodiscard]] std::size_t num_stretches() const noexcept { return stretches_.size(); }

    /// The stream says that a sample, of those after the known stretches, is at a time.
    void note(std::int64_t sample, double seconds) {
        if (sample > stretches_.back().first && std::abs(seconds - seconds_of(sample)) > kJumpSeconds) {
            stretches_.push_back({sample, seconds});
        }
    }
    [[nodiscard]] double seconds_of(std::int64_t sample) const noexcept {
        const auto after = std::ranges::upper_bound(stretches_, sample, {}, &Stretch::first);
        const auto& stretch = after == stretches_.begin() ? stretches_.front() : *std::prev(after);
        return stretch.seconds + static_cast<double>(sample - stretch.first) / rate_;
    }
    /// The sample of an endless sound without jumps that is nearest to a time: negative before the start.
    [[nodiscard]] std::int64_t place_of(double seconds) const noexcept {
        const double offset = std::floor((seconds - start_seconds()) * rate_ + 0.5);
        return static_cast<std::int64_t>(std::clamp(offset, -kFarthest, kFarthest));
    }
    /// The sample that is nearest to a time, halfway the later one. Of stretches that overlap in time, the last.
    [[nodiscard]] std::int64_t sample_at(double seconds) const noexcept {
        std::size_t i = stretches_.size() - 1;
        while (i > 0 && stretches_[i].seconds > seconds) --i;
        const double offset = std::floor((seconds - stretches_[i].seconds) * rate_ + 0.5);
        const auto sample = stretches_[i].first + static_cast<std::int64_t>(std::clamp(offset, 0.0, kFarthest));
        return i + 1 < stretches_.size() ? std::min(sample, stretches_[i + 1].first) : sample;
    }

private:
    static constexpr double kFarthest = 1e18;
    struct Stretch {
        std::int64_t first;
        double seconds;
    };
    std::vector<Stretch> stretches_;
    int rate_;
};

}  // namespace tricodec
