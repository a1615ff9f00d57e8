// SPDX-License-Identifier: Apache-2.0
/// Note [Arithmetic of sampling rules]: each rule repeats the operations of the package that models were trained with,
/// in its order and precision, so that the numbers are equal. numpy computes in double. torch.arange and torch.linspace
/// give float32.
#include "selection/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "selection/frame_range.h"
#include "selection/time_match.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

constexpr double kDefaultFps = 2.0;  // of the rules that have a default
constexpr std::int64_t kQwenMinFrames = 4;
constexpr std::int64_t kQwenMaxFrames = 768;
constexpr std::int64_t kQwenFactor = 2;  // frames of a temporal patch
constexpr std::int64_t kSmolMaxFrames = 64;
constexpr double kSmolSkipSeconds = 1.0;
constexpr double kNoBoundSeconds = 100000;  // InternVL's "whole video"

/// Half to even, as Python's and numpy's round().
std::int64_t rounded(double value) {
    return static_cast<std::int64_t>(std::nearbyint(value));
}
std::int64_t floored(double value) {
    return static_cast<std::int64_t>(std::floor(value));
}
std::int64_t round_by_factor(double value) {
    return rounded(value / kQwenFactor) * kQwenFactor;
}
std::int64_t floor_by_factor(double value) {
    return floored(value / kQwenFactor) * kQwenFactor;
}
std::int64_t ceil_by_factor(double value) {
    return static_cast<std::int64_t>(std::ceil(value / kQwenFactor)) * kQwenFactor;
}

std::vector<double> linspace(double first, double last, std::int64_t count) {
    expect_few_enough(static_cast<double>(count));
    std::vector<double> values(static_cast<std::size_t>(count));
    const auto div = static_cast<double>(count - 1);
    const double step = count > 1 ? (last - first) / div : 0;
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k) * step + first;
    if (count > 1) values.back() = last;
    return values;
}

/// torch.linspace(first, last, count).round(), in float32 from both ends.
std::vector<std::int64_t> evenly_in_float32(std::int64_t first, std::int64_t last, std::int64_t count) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    const auto begin = static_cast<float>(first);
    const auto end = static_cast<float>(last);
    const float step = count > 1 ? (end - begin) / static_cast<float>(count - 1) : 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const float value = k < count / 2 || count == 1 ? begin + step * static_cast<float>(k)
                                                        : end - step * static_cast<float>(count - k - 1);
        numbers[static_cast<std::size_t>(k)] = rounded(value);
    }
    return numbers;
}

/// torch.arange(begin, total, total / count).int(), `count` of them.
std::vector<std::int64_t> arange_in_float32(double begin, double total, std::int64_t count, std::int64_t first) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    const double step = total / static_cast<double>(count);
    for (std::size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = first + static_cast<std::int64_t>(static_cast<float>(begin + step * static_cast<double>(k)));
    return numbers;
}

std::vector<std::int64_t> floors(double first, double last, std::int64_t count) {
    std::vector<std::int64_t> numbers;
    for (const double value : linspace(first, last, count)) numbers.push_back(floored(value));
    return numbers;
}

void expect_enough(std::int64_t wanted, std::int64_t total, std::int64_t least, const char* rule) {
    TRICODEC_EXPECT(wanted >= least && wanted <= total, out_of_range,
                    std::string("sampling \"") + rule + "\" chooses " + std::to_string(wanted) + " of " +
                        std::to_string(total) + " frames; it needs from " + std::to_string(least) + " to " +
                        std::to_string(total) +
                        ": take another num_frames, fps or max_frames, or sampling \"uniform\"");
}

/// The part of qwen-vl-utils: whole frames inside of the bounds.
VideoPart qwen_part(const FrameSelection& selection, VideoPart part, const VideoTimes& video, double fps) {
    if (!selection.start_s && !selection.end_s) return part;
    const auto total = static_cast<std::int64_t>(video.pts_seconds.size());
    const double longest = static_cast<double>(total) / fps;
    const auto within = [&](double seconds) { return std::clamp(meant_number(seconds), 0.0, longest); };
    part.first = selection.start_s ? static_cast<std::int64_t>(std::ceil(within(*selection.start_s) * fps)) : 0;
    part.last = selection.end_s ? std::min(floored(within(*selection.end_s) * fps), total - 1) : total - 1;
    TRICODEC_EXPECT(part.first < part.last, out_of_range,
                    "start_s and end_s leave frames " + std::to_string(part.first) + " to " +
                        std::to_string(part.last) + "; sampling \"qwen\" needs two; " + range_text(total));
    return part;
}

std::int64_t qwen_frames(const FrameSelection& selection, std::int64_t total, double fps) {
    if (selection.num_frames) return round_by_factor(static_cast<double>(*selection.num_frames));
    const auto least = ceil_by_factor(static_cast<double>(selection.min_frames.value_or(kQwenMinFrames)));
    const auto most =
        floor_by_factor(static_cast<double>(selection.max_frames.value_or(std::min(kQwenMaxFrames, total))));
    const double wanted = static_cast<double>(total) / fps * meant_number(selection.fps.value_or(kDefaultFps));
    const double bounded = std::min(std::max(wanted, static_cast<double>(least)), static_cast<double>(most));
    return floor_by_factor(std::min(bounded, static_cast<double>(total)));
}

std::vector<std::int64_t> qwen(const FrameSelection& selection, const VideoPart& whole, const VideoTimes& video,
                               double fps) {
    const auto part = qwen_part(selection, whole, video, fps);
    const auto count = qwen_frames(selection, part.num_frames(), fps);
    expect_enough(count, part.num_frames(), kQwenFactor, "qwen");
    return evenly_in_float32(part.first, part.last, count);
}

std::vector<std::int64_t> qwen2_vl(const FrameSelection& selection, const VideoPart& part, double fps) {
    const auto total = part.num_frames();
    std::int64_t count = 0;
    if (selection.num_frames) {
        count = round_by_factor(static_cast<double>(*selection.num_frames));
    } else {
        const auto least = static_cast<double>(selection.min_frames.value_or(kQwenMinFrames));
        const auto most =
            floor_by_factor(static_cast<double>(std::min(selection.max_frames.value_or(kQwenMaxFrames), total)));
        const double wanted = static_cast<double>(total) / fps * meant_number(selection.fps.value_or(kDefaultFps));
        const double bounded = std::min(std::max(wanted, least), static_cast<double>(most));
        count = floor_by_factor(std::min(bounded, static_cast<double>(total)));
    }
    expect_enough(count, total, 1, "qwen2_vl");
    return arange_in_float32(0, static_cast<double>(total), count, part.first);
}

std::vector<std::int64_t> qwen3_vl(const FrameSelection& selection, const VideoPart& part, double fps) {
    const auto total = part.num_frames();
    std::int64_t count = 0;
    if (selection.num_frames) {
        count = *selection.num_frames;
    } else {
        const double wanted = static_cast<double>(total) / fps * meant_number(selection.fps.value_or(kDefaultFps));
        count = std::max(static_cast<std::int64_t>(wanted), selection.min_frames.value_or(kQwenMinFrames));
        count = std::min({count, selection.max_frames.value_or(kQwenMaxFrames), total});
    }
    return evenly(part.first, part.last, count);
}

std::vector<std::int64_t> smolvlm(const FrameSelection& selection, const VideoPart& part, double fps) {
    const auto total = part.num_frames();
    const double rate = meant_number(selection.fps.value_or(1.0));
    const auto most = selection.max_frames.value_or(kSmolMaxFrames);
    const double duration = static_cast<double>(total) / fps;
    const auto count = std::max<std::int64_t>(1, std::min(rounded(rate * duration), most));
    double first = 0;
    auto last = static_cast<double>(total - 1);
    if (duration - 2 * kSmolSkipSeconds > static_cast<double>(most) * rate) {
        first = std::trunc(kSmolSkipSeconds * fps);
        last = std::min(std::trunc(static_cast<double>(total) - kSmolSkipSeconds * fps), last);
        if (first >= last) {
            first = 0;
            last = static_cast<double>(total - 1);
        }
    }
    auto numbers = floors(first, last, count);
    const auto repeats = std::ranges::unique(numbers);
    numbers.erase(repeats.begin(), repeats.end());
    for (auto& number : numbers) number += part.first;
    return numbers;
}

std::vector<std::int64_t> segments(const FrameSelection& selection, const VideoTimes& video, double fps) {
    const auto total = static_cast<std::int64_t>(video.pts_seconds.size());
    const auto frame_of = [&](const std::optional<double>& seconds, double other) {
        return rounded((seconds ? meant_number(*seconds) : other) * fps);
    };
    const auto first = std::max<std::int64_t>(0, frame_of(selection.start_s, -kNoBoundSeconds));
    const auto last = std::min(frame_of(selection.end_s, kNoBoundSeconds), total - 1);
    const double size = static_cast<double>(last - first) / static_cast<double>(*selection.num_frames);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(*selection.num_frames));
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        numbers[k] = static_cast<std::int64_t>(static_cast<double>(first) + size / 2 +
                                               std::nearbyint(size * static_cast<double>(k)));
    }
    return numbers;
}

std::vector<std::int64_t> key_frames(const FrameSelection& selection, const VideoPart& part, const VideoTimes& video) {
    std::vector<std::int64_t> keys;
    for (const auto key : video.key_frames) {
        if (key >= part.first && key <= part.last) keys.push_back(key);
    }
    const auto size = static_cast<std::int64_t>(keys.size());
    const auto most = selection.max_frames.value_or(size);
    const auto count = selection.num_frames.value_or(std::min(size, most));
    if (count == size || keys.empty()) return keys;
    std::vector<std::int64_t> numbers;
    for (const auto k : evenly(0, size - 1, count)) numbers.push_back(keys[static_cast<std::size_t>(k)]);
    return numbers;
}

std::vector<std::int64_t> around(const FrameSelection& selection, const VideoTimes& video) {
    const auto last = static_cast<std::int64_t>(video.pts_seconds.size()) - 1;
    const auto count = *selection.num_frames;
    expect_few_enough(static_cast<double>(count) * static_cast<double>(selection.times->size()));
    TimeRule rule{.policy = selection.policy.value_or(TimePolicy::nearest), .tolerance_s = selection.tolerance_s};
    std::vector<std::int64_t> numbers;
    for (const double time : *selection.times) {
        ++rule.position;
        const auto middle = frame_at(time, rule, video);
        for (std::int64_t k = 0; k < count; ++k) {
            // A stride past the ends of the video means the ends, without overflow.
            const auto steps = std::clamp((k - count / 2), -(last / selection.stride) - 1, last / selection.stride + 1);
            numbers.push_back(std::clamp<std::int64_t>(middle + steps * std::min(selection.stride, last + 1), 0, last));
        }
    }
    return numbers;
}

}  // namespace

void expect_few_enough(double num_frames) {
    const auto most = static_cast<double>(limits().max_packets);
    TRICODEC_EXPECT(num_frames <= most, refused,
                    "the selection has " + std::to_string(num_frames) + " frames; at most " +
                        std::to_string(limits().max_packets) + " are given (the limit max_packets)");
}

std::vector<std::int64_t> evenly(std::int64_t first, std::int64_t last, std::int64_t count) {
    std::vector<std::int64_t> numbers;
    for (const double value : linspace(static_cast<double>(first), static_cast<double>(last), count))
        numbers.push_back(rounded(value));
    return numbers;
}

std::vector<std::int64_t> sample_frames(const FrameSelection& selection, const VideoPart& part,
                                        const VideoTimes& video) {
    const auto total = part.num_frames();
    const double fps = average_fps(video);
    if (selection.num_frames) expect_few_enough(static_cast<double>(*selection.num_frames));
    switch (selection.sampling) {
        case Sampling::none:
            return {};
        case Sampling::uniform:
            return evenly(part.first, part.last, *selection.num_frames);
        case Sampling::uniform_floor:
            return floors(static_cast<double>(part.first), static_cast<double>(part.last), *selection.num_frames);
        case Sampling::stride: {
            std::vector<std::int64_t> numbers;
            for (std::int64_t k = 0; k < *selection.num_frames; ++k)
                numbers.push_back(part.first + k * total / *selection.num_frames);
            return numbers;
        }
        case Sampling::centers: {
            const auto size = static_cast<double>(total);
            return arange_in_float32(size / static_cast<double>(*selection.num_frames) / 2, size, *selection.num_frames,
                                     part.first);
        }
        case Sampling::segments:
            return segments(selection, video, fps);
        case Sampling::qwen:
            return qwen(selection, part, video, fps);
        case Sampling::qwen2_vl:
            return qwen2_vl(selection, part, fps);
        case Sampling::qwen3_vl:
            return qwen3_vl(selection, part, fps);
        case Sampling::smolvlm:
            return smolvlm(selection, part, fps);
        case Sampling::key_frames:
            return key_frames(selection, part, video);
        case Sampling::around:
            return around(selection, video);
    }
    return {};
}

}  // namespace tricodec
