// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/open_videos.h"

namespace tricodec::plugin {

/// A file to read.
struct VideoFile {
    VideoLocation location;
    std::int64_t label = 0;
    std::optional<double> start{};  ///< of the part to read, in the unit of the list
    std::optional<double> end{};
};

/// The videos in the webdataset archives that `paths` and `index_paths` name, in their order. Throws tricodec::Error.
[[nodiscard]] std::vector<VideoFile> list_archive_videos(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
