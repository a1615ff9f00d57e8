// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "video/engine_queue.h"
#include "video/frame_reader_impl.h"

namespace tricodec {

/// The frames of these numbers, ascending, decoded ahead on a GPU's engines by groups of pictures and given out in
/// order. A group begins ahead of its turn only if the memory for all of its frames is free; the one that is read next
/// begins in any case, and waits after a few frames if it has none. `num_decoders`: at work at once at most.
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_engine_iterator(FrameReaderImpl& reader,
                                                                          std::shared_ptr<const StreamIndex> index,
                                                                          std::vector<std::int64_t> numbers,
                                                                          std::vector<Segment> groups,
                                                                          EngineQueue& queue, int num_decoders);

}  // namespace tricodec
