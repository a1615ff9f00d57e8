// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tricodec/image/transform.h"

namespace tricodec {

/// How a size is reached that does not have the proportions of the picture, as DALI's resize defines it.
enum class ResizeMode : std::uint8_t {
    normal,      ///< exactly the size; an extent that is not given keeps the proportions
    stretch,     ///< exactly the size; an extent that is not given stays as it is
    not_larger,  ///< keeps the proportions; no extent is larger than asked
    not_smaller  ///< keeps the proportions; no extent is smaller than asked
};
/// "default" "stretch" "not_larger" "not_smaller". Throws Error(invalid_argument).
[[nodiscard]] ResizeMode parse_resize_mode(std::string_view name);

/// A size that depends on the picture. In pixels; 0 is an extent that is not given.
struct ResizeRequest {
    float height = 0;
    float width = 0;
    ResizeMode mode = ResizeMode::normal;
    std::optional<float> max_height{};
    std::optional<float> max_width{};
};

/// The size for a picture, rounded half up, at least 1x1. In single precision and the order of DALI's resize, so that
/// sizes are the same. Throws Error(invalid_argument) for extents that are negative, not finite or all 0.
[[nodiscard]] Size resized_size(const ResizeRequest& request, Size picture);

}  // namespace tricodec
