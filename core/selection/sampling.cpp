// SPDX-License-Identifier: Apache-2.0
/// Note [Arithmetic of sampling rules]: the rules repeat numpy's operations, in their order and precision, so that the
/// numbers are equal to those of packages that models were trained with. "centers" is torch.arange, which gives
/// float32.
#include <algorithm>
#include <cmath>
#include <string>

#include "selection/rules.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

/// Half to even, as Python's and numpy's round().
std::int64_t rounded(double value) {
    return static_cast<std::int64_t>(std::nearbyint(value));
}
std::int64_t floored(double value) {
    return static_cast<std::int64_t>(std::floor(value));
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
        case Sampling::key_frames:
            return key_frames(selection, part, video);
        case Sampling::around:
            return around(selection, video);
    }
    return {};
}

}  // namespace tricodec
