// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tricodec/base/option.h"

namespace tricodec {

/// Which frame a time means. Of frames with equal times, the last one.
enum class TimePolicy : std::uint8_t {
    nearest,    ///< the frame with the nearest time, of two the earlier
    on_screen,  ///< the frame with the greatest time that is not after the time
    exact,      ///< the frame of this time, and no other
};

/// A rule that chooses frames. docs/reference/python.md has each formula.
enum class Sampling : std::uint8_t {
    none,
    uniform,        ///< num_frames from the first to the last, rounded
    uniform_floor,  ///< the same, cut off to whole numbers
    stride,         ///< num_frames, k * total / num_frames
    centers,        ///< the middles of num_frames equal parts
    key_frames,     ///< those from which decoding can start
    around,         ///< num_frames around each of `times`, `stride` apart
};

/// The frames of a request, with the same options in every front end. Plain data.
///
/// Note [Options of a selection]: a selection is a list (`indices`, `times`), or a part of the video and how densely
/// its frames are taken. The part starts at `start` or `start_s` and ends after `count` frames or at `end_s`. Its
/// frames are taken `stride` apart, at `fps` frames a second, or as `num_frames` frames evenly. A `sampling` rule takes
/// these options as its parameters. Options that contradict each other are Error(invalid_argument).
///
/// Note [Times in float32]: DALI, Parquet and torch keep times as float32. A time that is the float32 of a frame's time
/// means that frame. Any other number that float32 holds exactly is taken as the shortest decimal with that float32.
struct FrameSelection {
    std::int64_t start = 0;   ///< negative counts from the end
    std::int64_t stride = 1;  ///< at least 1
    std::int64_t count = -1;  ///< -1 = to the end

    std::optional<std::vector<std::int64_t>> indices{};  ///< any order, repeats; negative ones count from the end
    std::optional<std::vector<double>> times{};          ///< in seconds, any order, repeats
    std::optional<double> tolerance_s{};                 ///< the greatest distance of a time from its frame's
    std::optional<TimePolicy> policy{};                  ///< nearest for `times`, on_screen for `fps`

    std::optional<double> fps{};
    std::optional<std::int64_t> num_frames{};
    std::optional<double> start_s{};  ///< begins with the frame on screen there
    std::optional<double> end_s{};    ///< ends before the first frame at or after it

    Sampling sampling = Sampling::none;
    std::optional<std::int64_t> min_frames{};
    std::optional<std::int64_t> max_frames{};

    [[nodiscard]] bool operator==(const FrameSelection&) const = default;
};

/// The table of the fields: Note [Options].
[[nodiscard]] Options<FrameSelection> selection_options();
/// True if only start, stride and count are set.
[[nodiscard]] bool is_range(const FrameSelection& selection) noexcept;
/// True if the frames are those of a part of the video, `stride` apart: no list, rate, number of frames or rule.
[[nodiscard]] bool is_part(const FrameSelection& selection);
/// Throws Error(invalid_argument) for values and combinations that no video can make right.
void expect_valid(const FrameSelection& selection);

/// What a selection needs to know of a video. A FrameClock makes it; Note [Times of any order]
struct VideoTimes {
    std::span<const double> pts_seconds;  ///< of the frames, in presentation order
    double end_seconds = 0;               ///< when the frame with the greatest time leaves the screen
    double tick_seconds = 0;              ///< the step of the container's time stamps
    double frame_rate = 0;                ///< frames a second as the headers state it, 0 unknown
    std::span<const std::int64_t> key_frames{};
    std::span<const std::int64_t> by_time{};   ///< frame numbers in the order of their times; empty if times rise
    std::span<const double> rising_seconds{};  ///< clock(), where that differs from pts_seconds
    double clock_end_seconds = 0;              ///< when the last frame leaves the screen by `rising_seconds`

    /// The playback clock: a rising time for each frame.
    [[nodiscard]] std::span<const double> clock() const noexcept {
        return rising_seconds.empty() ? pts_seconds : rising_seconds;
    }
    [[nodiscard]] double clock_end() const noexcept { return rising_seconds.empty() ? end_seconds : clock_end_seconds; }
    /// The time that the frames are on screen. 0 for no frames.
    [[nodiscard]] double duration_seconds() const noexcept {
        return pts_seconds.empty() ? 0 : clock_end() - clock().front();
    }
};
/// Frames a second: their number by the time that they are on screen. 0 for no frames.
[[nodiscard]] double average_fps(const VideoTimes& video) noexcept;

/// Frames of a selection, and the times that it asked for: of each entry of `times`, of each instant of `fps`, else the
/// time of the frame.
struct SelectedFrames {
    std::vector<std::int64_t> numbers;
    std::vector<double> times;
};
/// Throws Error(invalid_argument) as expect_valid() does, Error(out_of_range) for frames and times that the video does
/// not have. The text names the first one, and for a time its nearest frame.
[[nodiscard]] SelectedFrames select_frames(const FrameSelection& selection, const VideoTimes& video);

/// `count` numbers evenly from `first` to `last`, halves rounded up: the uniform_sample of DALI's readers. The rule
/// "uniform" rounds halves to even.
[[nodiscard]] std::vector<std::int64_t> evenly_half_up(std::int64_t first, std::int64_t last, std::int64_t count);

/// What fills the places of a sequence that are past the last frame of its video.
enum class PadMode : std::uint8_t {
    none,          ///< nothing: there are no such places
    constant,      ///< a value, kNoFrame
    edge,          ///< the last frame
    reflect_1001,  ///< the frames backwards from the last one, which comes again: 0 1 2 2 1 0 0 1
    reflect_101    ///< the same without the repeat: 0 1 2 1 0 1 2
};
/// "none", "constant", "edge" ("repeat"), "reflect_1001" ("symmetric") or "reflect_101" ("reflect"). Throws
/// Error(invalid_argument).
[[nodiscard]] PadMode parse_pad_mode(std::string_view name);

/// A place without a frame.
inline constexpr std::int64_t kNoFrame = -1;

/// The frame for a place: `number` itself if the video has that frame, else as `mode` says. `number` is at least 0,
/// `num_frames` at least 1. kNoFrame for "constant" and "none".
[[nodiscard]] std::int64_t padded_frame(PadMode mode, std::int64_t number, std::int64_t num_frames);

}  // namespace tricodec
