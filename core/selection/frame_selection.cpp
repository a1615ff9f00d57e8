// SPDX-License-Identifier: Apache-2.0
#include "tricodec/selection/frame_selection.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/named_values.h"
#include "selection/rules.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr double kWholeInstant = 1e-6;  // of an instant: rounding adds none at the end of a part

/// The video with the times of its playback clock.
VideoTimes by_clock(const VideoTimes& video) {
    auto played = video;
    played.pts_seconds = video.clock();
    played.end_seconds = video.clock_end();
    played.by_time = {};
    return played;
}

/// Note [Options of a selection]: from its start to `end_s`, or the end of the video, by the playback clock.
VideoPart part_of(const FrameSelection& selection, const VideoTimes& video) {
    TRICODEC_EXPECT(size_of(video) > 0, out_of_range, range_text(0));
    const auto played = by_clock(video);
    const auto& times = played.pts_seconds;
    const auto span =
        "; the video shows frames from " + seconds_text(times.front()) + " to " + seconds_text(played.end_seconds);
    VideoPart part{.last = size_of(video) - 1, .end_seconds = played.end_seconds};
    if (selection.start_s) {
        const double begin = meant_instant(*selection.start_s, played);
        TRICODEC_EXPECT(begin < played.end_seconds, out_of_range, "start_s is " + seconds_text(begin) + span);
        part.begin_seconds = std::max(begin, times.front());
        part.first = frame_on_screen(part.begin_seconds, played);
    } else {
        part.first = checked_start(selection.start, size_of(video));
        part.begin_seconds = time_of(part.first, played);
    }
    if (selection.end_s) {
        const double end = meant_instant(*selection.end_s, played);
        TRICODEC_EXPECT(
            end > part.begin_seconds, out_of_range,
            "end_s is " + seconds_text(end) + ", and the frames begin at " + seconds_text(part.begin_seconds) + span);
        part.last = std::ranges::lower_bound(times, end) - times.begin() - 1;
        part.end_seconds = std::min(end, played.end_seconds);
    }
    return part;
}

SelectedFrames with_their_times(std::vector<std::int64_t> numbers, const VideoTimes& video) {
    SelectedFrames selected{std::move(numbers), {}};
    for (const auto number : selected.numbers) selected.times.push_back(time_of(number, video));
    return selected;
}

SelectedFrames at_times(const FrameSelection& selection, const VideoTimes& video) {
    TimeRule rule{.policy = selection.policy.value_or(TimePolicy::nearest), .tolerance_s = selection.tolerance_s};
    SelectedFrames selected{{}, *selection.times};
    for (const double time : selected.times) {
        ++rule.position;
        selected.numbers.push_back(frame_at(time, rule, video));
    }
    return selected;
}

SelectedFrames at_rate(const FrameSelection& selection, const VideoTimes& video) {
    const auto part = part_of(selection, video);
    const double fps = meant_number(*selection.fps);
    const double instants = (part.end_seconds - part.begin_seconds) * fps;
    expect_few_enough(instants);
    auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(instants - kWholeInstant)));
    auto bounded = std::max(count, selection.min_frames.value_or(1));
    bounded = std::min(bounded, selection.max_frames.value_or(bounded));
    if (bounded != count) return with_their_times(evenly(part.first, part.last, bounded), video);
    if (selection.count >= 0) {
        TRICODEC_EXPECT(selection.count <= count, out_of_range,
                        "count is " + std::to_string(selection.count) + ", and there are " + std::to_string(count) +
                            " instants at " + std::to_string(fps) + " frames a second from " +
                            seconds_text(part.begin_seconds) + " to " + seconds_text(part.end_seconds) +
                            "; ask for fewer, or leave count out");
        count = selection.count;
    }
    // The container rounded the times of frames to its ticks.
    const TimeRule rule{.policy = selection.policy.value_or(TimePolicy::on_screen),
                        .tolerance_s = selection.tolerance_s,
                        .slack_seconds = video.tick_seconds / 2,
                        .what = "the instant of fps"};
    const auto played = by_clock(video);
    SelectedFrames selected;
    for (std::int64_t k = 0; k < count; ++k) {
        const double instant = part.begin_seconds + static_cast<double>(k) / fps;
        selected.times.push_back(instant);
        selected.numbers.push_back(frame_at(instant, rule, played));
    }
    return selected;
}

std::vector<std::int64_t> in_steps(const FrameSelection& selection, const VideoTimes& video) {
    const auto total = size_of(video);
    FrameRange range{checked_start(selection.start, size_of(video)), selection.stride, selection.count};
    const bool by_time = selection.start_s || selection.end_s;
    auto end = total;
    if (by_time) {
        const auto part = part_of(selection, video);
        range.start = part.first;
        end = part.last + 1;
    }
    const auto available = num_selected(end, range.start, range.stride);
    TRICODEC_EXPECT(range.count <= available, out_of_range,
                    std::to_string(range.count) + " frames from " + std::to_string(range.start) + " with stride " +
                        std::to_string(range.stride) + " were asked for, but there are " + std::to_string(available) +
                        "; " + range_text(total));
    return clipped_numbers(range, end);
}

}  // namespace

std::vector<std::int64_t> evenly_half_up(std::int64_t first, std::int64_t last, std::int64_t count) {
    std::vector<std::int64_t> numbers;
    const auto gaps = std::max<std::int64_t>(count - 1, 1);
    for (std::int64_t k = 0; k < count; ++k) numbers.push_back(first + (2 * k * (last - first) + gaps) / (2 * gaps));
    return numbers;
}

double average_fps(const VideoTimes& video) noexcept {
    const double seconds = video.duration_seconds();
    return seconds > 0 ? static_cast<double>(video.pts_seconds.size()) / seconds : 0;
}

SelectedFrames select_frames(const FrameSelection& selection, const VideoTimes& video) {
    expect_valid(selection);
    if (selection.sampling != Sampling::none)
        return with_their_times(sample_frames(selection, part_of(selection, video), video), video);
    if (selection.times) return at_times(selection, video);
    if (selection.fps) return at_rate(selection, video);
    if (selection.indices) {
        std::vector<std::int64_t> numbers;
        for (const auto index : *selection.indices) numbers.push_back(checked_frame(index, size_of(video)));
        return with_their_times(std::move(numbers), video);
    }
    if (selection.num_frames) {
        const auto part = part_of(selection, video);
        return with_their_times(evenly(part.first, part.last, *selection.num_frames), video);
    }
    return with_their_times(in_steps(selection, video), video);
}

PadMode parse_pad_mode(std::string_view name) {
    constexpr NamedValues<PadMode, 8> kModes = {"pad_mode",
                                                {{"none", PadMode::none},
                                                 {"constant", PadMode::constant},
                                                 {"edge", PadMode::edge},
                                                 {"reflect_1001", PadMode::reflect_1001},
                                                 {"reflect_101", PadMode::reflect_101},
                                                 {"repeat", PadMode::edge},
                                                 {"symmetric", PadMode::reflect_1001},
                                                 {"reflect", PadMode::reflect_101}}};
    return kModes.value_of(name);
}

std::int64_t padded_frame(PadMode mode, std::int64_t number, std::int64_t num_frames) {
    if (number < num_frames) return number;
    if (mode == PadMode::none || mode == PadMode::constant) return kNoFrame;
    if (mode == PadMode::edge || num_frames == 1) return num_frames - 1;
    const bool repeats = mode == PadMode::reflect_1001;
    const auto period = repeats ? 2 * num_frames : 2 * num_frames - 2;
    const auto phase = number % period;
    return phase < num_frames ? phase : period - phase - (repeats ? 1 : 0);
}

}  // namespace tricodec
