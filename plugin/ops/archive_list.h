// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <vector>

#include "ops/video_file.h"

namespace tricodec::plugin {

/// The videos in the webdataset archives that `paths` and `index_paths` name, in their order. Throws tricodec::Error.
[[nodiscard]] std::vector<VideoFile> list_archive_videos(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
