// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "video/engine_queue.h"
#include "video/frame_reader_impl.h"

namespace tricodec {

enum class FrameOrder {
    presentation,
    any,  ///< as groups give them; next() throws IndexMismatch where frames are not those that the index foretold
};

/// The selected frames, decoded ahead on a GPU's engines by groups of pictures and given out in `order`; null where
/// they are all of one group. A group begins ahead of its turn only if the memory for all of its frames is free; the
/// one that is read next begins in any case, and waits after a few frames if it has none. A read from the first frame
/// on begins while the packets are still being indexed (Note [Decoding before the index]).
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_engine_iterator(FrameReaderImpl& reader,
                                                                          const FrameSelection& selection,
                                                                          EngineQueue& queue,
                                                                          const NumDecoders& num_decoders,
                                                                          FrameOrder order = FrameOrder::presentation);

}  // namespace tricodec
