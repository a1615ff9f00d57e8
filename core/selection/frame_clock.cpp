// SPDX-License-Identifier: Apache-2.0
#include "tricodec/selection/frame_clock.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace tricodec {
namespace {

constexpr std::size_t kMostMisplaced = 8;      // frames in a row
constexpr double kLongestStep = 10;            // seconds; FFmpeg's dts_delta_threshold
constexpr double kLoneFrameSeconds = 60 * 60;  // between the first or last frame and all others

double typical_step(const std::vector<double>& times, double otherwise) {
    std::vector<double> steps;
    for (std::size_t i = 1; i < times.size(); ++i) {
        if (times[i] > times[i - 1]) steps.push_back(times[i] - times[i - 1]);
    }
    if (steps.empty()) return otherwise;
    const auto middle = steps.begin() + std::ssize(steps) / 2;
    std::ranges::nth_element(steps, middle);
    return *middle;
}

/// Finds the frames that are in their place, and makes their times continue each other.
class Course {
public:
    Course(const std::vector<double>& times, const std::vector<double>& shown, double typical)
        : times_(times), shown_(shown), typical_(typical), longest_(std::max(kLongestStep, 10 * typical)) {
        for (std::size_t n = 0; n < times.size(); ++n) place(n);
    }

    /// How long a frame is shown.
    [[nodiscard]] double shown(std::size_t n) const {
        return shown_[n] > 0 && shown_[n] <= longest_ ? shown_[n] : typical_;
    }
    [[nodiscard]] std::vector<double> clock() const {
        std::vector<double> clock(times_.size());
        for (std::size_t k = 0; k < placed_.size(); ++k) {
            const auto [first, begin] = placed_[k];
            const bool is_last = k + 1 == placed_.size();
            const auto end = is_last ? clock.size() : placed_[k + 1].first;
            const double step =
                is_last ? shown(first) : (placed_[k + 1].second - begin) / static_cast<double>(end - first);
            for (auto n = first; n < end; ++n) clock[n] = begin + static_cast<double>(n - first) * step;
        }
        return clock;
    }

private:
    [[nodiscard]] bool follows(double time, double before) const { return time > before && time - before <= longest_; }

    void place(std::size_t n) {
        const double time = times_[n] + offset_;
        if (placed_.empty() || follows(time, placed_.back().second)) {
            placed_.emplace_back(n, time);
            return;
        }
        const auto [last, before] = placed_.back();
        // The frames before this one are out of place, or this one and some after it are.
        const auto num_before = std::min(kMostMisplaced, placed_.size());
        std::size_t back = time < before ? 1 : num_before;
        while (back < num_before && !follows(time, placed_[placed_.size() - 1 - back].second)) ++back;
        const auto num_after = std::min(kMostMisplaced, times_.size() - n);
        std::size_t ahead = 1;
        while (ahead < num_after && !follows(times_[n + ahead] + offset_, before)) ++ahead;
        const bool is_last = n + 1 == times_.size() && time != before;
        if ((is_last || ahead < num_after) && (ahead <= back || back == num_before)) return;
        if (back < num_before) {
            placed_.resize(placed_.size() - back);
            placed_.emplace_back(n, time);
            return;
        }
        if (n == 1) {  // all that is known of the first frame is that it comes before this one
            placed_.back().second = time - shown(0);
            placed_.emplace_back(n, time);
            return;
        }
        const double continued = before + static_cast<double>(n - last) * shown(last);
        offset_ = continued - times_[n];
        placed_.emplace_back(n, continued);
    }

    const std::vector<double>& times_;
    const std::vector<double>& shown_;
    const double typical_;
    const double longest_;
    std::vector<std::pair<std::size_t, double>> placed_;  // frames, and their times on the clock
    double offset_ = 0;
};

}  // namespace

FrameClock::FrameClock(std::vector<double> pts_seconds, std::vector<double> shown_seconds, double end_seconds)
    : pts_seconds_(std::move(pts_seconds)), end_seconds_(end_seconds) {
    if (pts_seconds_.empty()) return;
    const auto& times = pts_seconds_;
    const auto size = times.size();
    shown_seconds.resize(size);
    shown_seconds.back() = end_seconds - times.back();
    const bool rises = std::ranges::adjacent_find(times, std::greater_equal{}) == times.end();
    if (rises) {
        const double lone = size < 3 ? 0 : std::max(times[1] - times[0], times[size - 1] - times[size - 2]);
        if (lone < kLoneFrameSeconds) return;
        const double typical = typical_step(times, lone);
        if (lone > 1000 * typical) set_clock(std::move(shown_seconds), typical);
        return;
    }
    by_time_.resize(size);
    std::iota(by_time_.begin(), by_time_.end(), 0);
    std::ranges::stable_sort(by_time_, {}, [&](std::int64_t n) { return times[static_cast<std::size_t>(n)]; });
    const double typical = typical_step(times, *std::ranges::max_element(shown_seconds));
    set_clock(std::move(shown_seconds), typical);
}

void FrameClock::set_clock(std::vector<double> shown_seconds, double typical) {
    const Course course(pts_seconds_, shown_seconds, typical);
    rising_seconds_ = course.clock();
    clock_end_seconds_ = rising_seconds_.back() + course.shown(rising_seconds_.size() - 1);
    if (by_time_.empty()) return;
    const auto latest = static_cast<std::size_t>(by_time_.back());
    end_seconds_ = pts_seconds_[latest] + course.shown(latest);
}

VideoTimes FrameClock::video_times() const {
    return {.pts_seconds = pts_seconds_,
            .end_seconds = end_seconds_,
            .by_time = by_time_,
            .rising_seconds = rising_seconds_,
            .clock_end_seconds = clock_end_seconds_};
}

}  // namespace tricodec
