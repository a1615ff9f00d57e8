// SPDX-License-Identifier: Apache-2.0
#include "selection/time_match.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "selection/frame_range.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

bool is_float32(double value) {
    return static_cast<double>(static_cast<float>(value)) == value;
}

double time_of(std::int64_t frame, const VideoTimes& video) {
    return video.pts_seconds[static_cast<std::size_t>(frame)];
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
    const auto& times = video.pts_seconds;
    const double* found = nullptr;
    for (auto it = std::ranges::lower_bound(times, low); it != times.end() && *it <= high; ++it) {
        if (static_cast<float>(*it) != single) continue;
        if (found == nullptr || std::abs(*it - value) < std::abs(*found - value)) found = &*it;
    }
    return found == nullptr ? meant_number(value) : *found;
}

std::int64_t nearest_frame(double seconds, const VideoTimes& video) {
    const auto& times = video.pts_seconds;
    const auto after = std::ranges::lower_bound(times, seconds);
    if (after == times.begin()) return 0;
    if (after == times.end() || seconds - *std::prev(after) <= *after - seconds) return after - times.begin() - 1;
    return after - times.begin();
}

std::int64_t frame_on_screen(double seconds, const VideoTimes& video) {
    const auto& times = video.pts_seconds;
    return std::ranges::upper_bound(times, seconds) - times.begin() - 1;
}

std::int64_t frame_at(double seconds, const TimeRule& rule, const VideoTimes& video) {
    TRICODEC_EXPECT(!video.pts_seconds.empty(), out_of_range, range_text(0, video.damaged));
    const double meant = meant_time(seconds, video);
    const double first = video.pts_seconds.front();
    const bool shown = meant + rule.slack_seconds >= first && meant < video.end_seconds;
    const auto span = [&] {
        return "the video shows frames from " + seconds_text(first) + " to " + seconds_text(video.end_seconds);
    };
    std::int64_t frame = 0;
    switch (rule.policy) {
        case TimePolicy::exact:
            frame = nearest_frame(meant, video);
            if (time_of(frame, video) != meant)
                refuse(seconds, rule, video, "policy \"exact\" takes times of frames only");
            return frame;
        case TimePolicy::nearest:
            frame = nearest_frame(meant, video);
            if (!rule.tolerance_s && !shown)
                refuse(seconds, rule, video, span() + "; pass tolerance_s to take a frame for a time outside");
            break;
        case TimePolicy::on_screen:
            if (!shown) refuse(seconds, rule, video, span());
            frame = std::max<std::int64_t>(0, frame_on_screen(meant + rule.slack_seconds, video));
            break;
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
