// SPDX-License-Identifier: Apache-2.0
#include "tricodec/selection/frame_padding.h"

#include <string>

#include "tricodec/base/error.h"

namespace tricodec {

PadMode parse_pad_mode(std::string_view name) {
    if (name == "none") return PadMode::none;
    if (name == "constant") return PadMode::constant;
    if (name == "edge" || name == "repeat") return PadMode::edge;
    if (name == "reflect_1001" || name == "symmetric") return PadMode::reflect_1001;
    if (name == "reflect_101" || name == "reflect") return PadMode::reflect_101;
    fail(ErrorCode::invalid_argument,
         "pad_mode '" + std::string(name) +
             "' is not one of none, constant, edge (repeat), reflect_1001 (symmetric), reflect_101 (reflect)");
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
