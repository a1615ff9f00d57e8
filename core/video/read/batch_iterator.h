// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tricodec/video/frame_reader.h"
#include "video/read/frame_iterator.h"
#include "video/read/indexed_video.h"

namespace tricodec {

/// Batches of the selected frames through a Transform, decoded ahead: GOP ranges on
/// several decoders where the batches of whole ranges fit the memory bound, else one decoder with threads of its own.
/// Each frame is written straight into its batch by the thread that decoded it. `shape`: gives that of a frame that
/// comes out, as far as is known when it is called.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(
    IndexedVideo& video, ResolveSelection resolve, std::int64_t batch_size, const Transform& transform,
    std::function<std::vector<std::int64_t>()> shape);

/// How batches are decoded on the CPU.
struct BatchesPlan {
    ReadPlan read;
    std::int64_t most_bytes = 0;  ///< of batches that the consumer does not have yet
};
[[nodiscard]] BatchesPlan plan_batches(const IndexedVideo& video, const StreamIndex& index,
                                       std::span<const std::int64_t> numbers, std::int64_t batch_bytes,
                                       std::int64_t frame_bytes);

}  // namespace tricodec
