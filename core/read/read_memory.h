// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "read/indexed_video.h"
#include "read/read_plan.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// What a read takes at its peak. The index is there, and nothing is decoded to find out.
///
/// Note [Memory of a read]: the frames that a decoder keeps are those that its stream's headers ask for, and one for
/// each further thread. A read keeps what its bound allows to be decoded ahead, as if its consumer were slower than its
/// decoders. Decoders of a GPU are counted by their surfaces, as MemoryKind::decoders counts them.

/// Of FrameReader::batch(): `plan` is that of the read, `output_bytes` the size of the result.
[[nodiscard]] MemoryNeed memory_of_batch(const IndexedVideo& video, const ReadPlan& plan, std::int64_t output_bytes);
/// Of FrameReader::batches() with frames of `frame_bytes`.
[[nodiscard]] MemoryNeed memory_of_batches(const IndexedVideo& video, const StreamIndex& index,
                                           std::span<const std::int64_t> numbers, std::int64_t batch_size,
                                           std::int64_t frame_bytes);

}  // namespace tricodec
