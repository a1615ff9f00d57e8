// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "read/indexed_video.h"
#include "selection/frame_range.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Batches of the selected frames through a Transform, decoded ahead on the CPU: GOP ranges on several decoders where
/// the batches of whole ranges fit the memory bound, else one decoder with threads of its own. Each frame is written
/// straight into its batch by the thread that decoded it. `shape`: gives that of a frame that comes out, as far as is
/// known when it is called.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(
    IndexedVideo& video, ResolveSelection resolve, std::int64_t batch_size, const Transform& transform,
    std::function<std::vector<std::int64_t>()> shape);

/// Batches of `frames` through a Transform on the GPU that decodes `video`.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> batch_frames(const IndexedVideo& video,
                                                                       std::unique_ptr<FrameReader::Iterator> frames,
                                                                       std::int64_t batch_size,
                                                                       const Transform& transform);

}  // namespace tricodec
