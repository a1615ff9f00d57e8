// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/named_values.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

using Extents = std::array<float, 2>;

constexpr float kNoLimit = std::numeric_limits<float>::infinity();

/// One scale for both extents: the smallest or largest that an extent asks for, within the limits.
Extents in_proportion(const Extents& asked, const Extents& picture, const Extents& most, bool smallest) {
    std::optional<float> scale;
    for (std::size_t i = 0; i < 2; ++i) {
        if (asked[i] == 0) continue;
        const float own = asked[i] / picture[i];
        scale = !scale ? own : smallest ? std::min(*scale, own) : std::max(*scale, own);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        if (picture[i] * *scale > most[i]) scale = most[i] / picture[i];
    }
    return {picture[0] * *scale, picture[1] * *scale};
}

/// Each extent as asked; one that is not asked for is scaled as the other, or kept.
Extents exactly(const Extents& asked, const Extents& picture, const Extents& most, bool keep) {
    Extents out = asked;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t other = 1 - i;
        if (asked[i] == 0) out[i] = keep ? picture[i] : picture[i] * (asked[other] / picture[other]);
    }
    for (std::size_t i = 0; i < 2; ++i) out[i] = std::min(out[i], most[i]);
    return out;
}

int rounded(float extent) {
    constexpr float kMost = 1 << 24;  // larger ones are refused by what makes the picture
    return std::max(1, static_cast<int>(std::lround(std::min(extent, kMost))));
}

}  // namespace

ResizeMode parse_resize_mode(std::string_view name) {
    constexpr NamedValues<ResizeMode, 4> kModes = {"mode",
                                                   {{"default", ResizeMode::normal},
                                                    {"stretch", ResizeMode::stretch},
                                                    {"not_larger", ResizeMode::not_larger},
                                                    {"not_smaller", ResizeMode::not_smaller}}};
    return kModes.value_of(name);
}

Size resized_size(const ResizeRequest& request, Size picture) {
    const Extents asked{request.height, request.width};
    for (const float extent : asked) {
        TRICODEC_EXPECT(extent >= 0 && std::isfinite(extent), invalid_argument,
                        "a size of " + std::to_string(extent) +
                            " pixels is asked for; sizes are positive, and 0 is a size that is not given");
    }
    TRICODEC_EXPECT(asked[0] > 0 || asked[1] > 0, invalid_argument,
                    "a size of 0x0 is asked for; at least one extent must be larger than 0");
    const Extents most{request.max_height.value_or(kNoLimit), request.max_width.value_or(kNoLimit)};
    for (const float extent : most) {
        TRICODEC_EXPECT(extent > 0, invalid_argument,
                        "max_size is " + std::to_string(extent) + "; it must be larger than 0 pixels");
    }
    const Extents of_picture{static_cast<float>(picture.height), static_cast<float>(picture.width)};
    const bool proportional = request.mode == ResizeMode::not_larger || request.mode == ResizeMode::not_smaller;
    const Extents out = proportional ? in_proportion(asked, of_picture, most, request.mode == ResizeMode::not_larger)
                                     : exactly(asked, of_picture, most, request.mode == ResizeMode::stretch);
    return {.height = rounded(out[0]), .width = rounded(out[1])};
}

}  // namespace tricodec
