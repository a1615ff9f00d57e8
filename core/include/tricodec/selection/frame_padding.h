// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tricodec {

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
