// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "read/indexed_video.h"
#include "read/read_plan.h"
#include "selection/frame_range.h"

namespace tricodec {

/// The plan of a call that waits for all of its frames. `resumable`: as ReadPlan has it, for one decoder.
[[nodiscard]] ReadPlan plan_read(const IndexedVideo& video, const std::shared_ptr<const StreamIndex>& index,
                                 std::span<const std::int64_t> numbers, bool resumable);
/// The same as at most `max_tasks` for threads of the caller's; `num_cores` 0 for all of the video's workers.
[[nodiscard]] ReadPlan plan_tasks(const IndexedVideo& video, const StreamIndex& index,
                                  std::span<const std::int64_t> numbers, int max_tasks, int num_cores);

/// True where an iteration over `selection` begins without the index: to read all packets first would delay its first
/// frame for little.
[[nodiscard]] bool begins_without_index(const IndexedVideo& video, const FrameRange& selection);

/// GOP ranges for decoders that work ahead of an iteration over these frames.
[[nodiscard]] ReadPlan plan_ahead(const IndexedVideo& video, const StreamIndex& index,
                                  std::span<const std::int64_t> numbers);
/// The same, if several decoders are worth it.
[[nodiscard]] std::optional<ReadPlan> plan_frames_ahead(const IndexedVideo& video, const StreamIndex& index,
                                                        std::span<const std::int64_t> numbers);
/// Of frames that several decoders of the CPU decode ahead.
[[nodiscard]] std::int64_t most_bytes_ahead(const IndexedVideo& video);

/// How batches are decoded on the CPU.
struct BatchesPlan {
    ReadPlan read;
    std::int64_t most_bytes = 0;  ///< of batches that the consumer does not have yet
};
[[nodiscard]] BatchesPlan plan_batches(const IndexedVideo& video, const StreamIndex& index,
                                       std::span<const std::int64_t> numbers, std::int64_t batch_bytes,
                                       std::int64_t frame_bytes);

}  // namespace tricodec
