// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "video/engine_queue.h"
#include "video/frame_reader_impl.h"

namespace tricodec {

/// Decoders that may be at work at once for so many packets in so many groups of pictures.
using NumDecoders = std::function<int(std::int64_t num_packets, std::int64_t num_groups)>;

/// The selected frames, decoded ahead on a GPU's engines by groups of pictures and given out in order; null where they
/// are all of one group. A group begins ahead of its turn only if the memory for all of its frames is free; the one
/// that is read next begins in any case, and waits after a few frames if it has none. A read from the first frame on
/// begins while the packets are still being indexed (Note [Decoding before the index]).
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_engine_iterator(FrameReaderImpl& reader,
                                                                          const FrameSelection& selection,
                                                                          EngineQueue& queue,
                                                                          const NumDecoders& num_decoders);

}  // namespace tricodec
