// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tricodec/selection/frame_selection.h"

namespace tricodec {

/// Frames first..last of a video, on screen from begin_seconds to end_seconds.
struct VideoPart {
    std::int64_t first = 0;
    std::int64_t last = 0;
    double begin_seconds = 0;
    double end_seconds = 0;

    [[nodiscard]] std::int64_t num_frames() const noexcept { return last - first + 1; }
};

/// Whole numbers from `first` to `last`, evenly, rounded half to even: what numpy.linspace(...).round() gives.
[[nodiscard]] std::vector<std::int64_t> evenly(std::int64_t first, std::int64_t last, std::int64_t count);
/// Throws Error(refused) for more frames than a selection may have.
void expect_few_enough(double num_frames);

/// The frames that a rule chooses. `selection.sampling` is set and valid. Throws Error(out_of_range) if the video is
/// too short for the rule.
[[nodiscard]] std::vector<std::int64_t> sample_frames(const FrameSelection& selection, const VideoPart& part,
                                                      const VideoTimes& video);

}  // namespace tricodec
