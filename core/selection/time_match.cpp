// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <ranges>

#include "selection/rules.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr double kMicrosecond = 1e-6;  // the step of times as FFmpeg prints them

bool is_float32(double value) {
    return static_cast<double>(static_cast<float>(value)) == value;
}

/// The frame at a place in the order of time, with equal times in the order of their numbers.
std::int64_t placed(std::int64_t place, const VideoTimes& video) {
    return video.by_time.empty() ? place : video.by_time[static_cast<std::size_t>(place)];
}

double time_at(std::int64_t place, const VideoTimes& video) {
    return time_of(placed(place, video), video);
}

/// How many frames have a time before `seconds`, or not after it.
std::int64_t num_before(double seconds, const VideoTimes& video) {
    const auto places = std::views::iota(std::int64_t{0}, size_of(video));
    return *std::ranges::partition_point(places, [&](auto place) { return time_at(place, video) < seconds; });
}
std::int64_t num_until(double seconds, const VideoTimes& video) {
    const auto places = std::views::iota(std::int64_t{0}, size_of(video));
    return *std::ranges::partition_point(places, [&](auto place) { return time_at(place, video) <= seconds; });
}

/// True for a whole number of frames at the rate of the video, counted from 0 or from the first frame.
bool is_instant_of_rate(double seconds, const VideoTimes& video) {
    const auto counts_frames = [&](double begin) {
        const double frames = (seconds - begin) * video.frame_rate;
        return std::abs(frames - std::round(frames)) <= kMicrosecond * video.frame_rate;
    };
    return video.frame_rate > 0 && (counts_frames(0) || counts_frames(time_at(0, video)));
}

std::string nearest_text(double seconds, const VideoTimes& video) {
    const auto nearest = nearest_frame(seconds, video);
    return "the nearest frame is " + std::to_string(nearest) + " at " + seconds_text(time_of(nearest, video));
}

[[noreturn]] void refuse(double seconds, const TimeRule& rule, const VideoTimes& video, const std::string& why) {
    std::string subject = rule.what;
    if (rule.position >= 0) subject += " " + std::to_string(rule.position);
    fail(ErrorCode::out_of_range,
         subject + " is " + seconds_text(seconds) + ", and " + nearest_text(seconds, video) + ": " + why);
}

}  // namespace

std::string seconds_text(double seconds) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), seconds);
    return std::string(text.data(), error == std::errc() ? end : text.data()) + " s";
}

double meant_number(double value) {
    if (!is_float32(value)) return value;
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value));
    double meant = value;
    if (error != std::errc() || std::from_chars(text.data(), end, meant).ec != std::errc()) return value;
    return meant;
}

double meant_time(double value, const VideoTimes& video) {
    if (!is_float32(value)) return value;
    const auto single = static_cast<float>(value);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const double low = std::nextafter(single, -kInfinity);
    const double high = std::nextafter(single, kInfinity);
    std::optional<double> found;
    for (auto place = num_before(low, video); place < size_of(video) && time_at(place, video) <= high; ++place) {
        const double time = time_at(place, video);
        if (static_cast<float>(time) != single) continue;
        if (!found || std::abs(time - value) < std::abs(*found - value)) found = time;
    }
    return found.value_or(meant_number(value));
}

double meant_instant(double value, const VideoTimes& video) {
    const double meant = meant_time(value, video);
    if (video.pts_seconds.empty()) return meant;
    const double nearest = time_of(nearest_frame(meant, video), video);
    const bool rounded = is_instant_of_rate(meant, video);
    const double most = rounded ? std::max(kMicrosecond, video.tick_seconds / 2 + kMicrosecond) : kMicrosecond;
    return std::abs(nearest - meant) <= most ? nearest : meant;
}

std::int64_t nearest_frame(double seconds, const VideoTimes& video) {
    const auto after = num_until(seconds, video);
    if (after == size_of(video)) return placed(after - 1, video);
    const double next = time_at(after, video);
    if (after > 0 && seconds - time_at(after - 1, video) <= next - seconds) return placed(after - 1, video);
    return placed(num_until(next, video) - 1, video);
}

std::int64_t frame_on_screen(double seconds, const VideoTimes& video) {
    const auto count = num_until(seconds, video);
    return count == 0 ? -1 : placed(count - 1, video);
}

std::int64_t frame_at(double seconds, const TimeRule& rule, const VideoTimes& video) {
    TRICODEC_EXPECT(!video.pts_seconds.empty(), out_of_range, range_text(0));
    const bool on_screen = rule.policy == TimePolicy::on_screen;
    const double meant = on_screen ? meant_instant(seconds, video) : meant_time(seconds, video);
    const double first = time_at(0, video);
    const bool shown = meant + rule.slack_seconds >= first && meant < video.end_seconds;
    if (!shown && (on_screen || (rule.policy == TimePolicy::nearest && !rule.tolerance_s))) {
        refuse(seconds, rule, video,
               "the video shows frames from " + seconds_text(first) + " to " + seconds_text(video.end_seconds) +
                   (on_screen ? "" : "; pass tolerance_s to take a frame for a time outside"));
    }
    const auto frame = on_screen ? frame_on_screen(meant + rule.slack_seconds, video) : nearest_frame(meant, video);
    if (rule.policy == TimePolicy::exact) {
        if (time_of(frame, video) == meant) return frame;
        refuse(seconds, rule, video, "policy \"exact\" takes times of frames only");
    }
    if (rule.tolerance_s) {
        const double distance = std::abs(meant - time_of(frame, video));
        if (distance > meant_number(*rule.tolerance_s)) {
            refuse(seconds, rule, video,
                   "frame " + std::to_string(frame) + " is " + seconds_text(distance) + " away, and tolerance_s is " +
                       seconds_text(meant_number(*rule.tolerance_s)));
        }
    }
    return frame;
}

}  // namespace tricodec
