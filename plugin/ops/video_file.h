// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "common/open_videos.h"

namespace tricodec::plugin {

/// A file to read.
struct VideoFile {
    VideoLocation location;
    std::int64_t label = 0;
    std::optional<double> start{};  ///< of the part to read, in the unit of the list
    std::optional<double> end{};
};

}  // namespace tricodec::plugin
