// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "video/frame_reader_impl.h"

namespace tricodec {

/// Batches of frames through a Transform, decoded ahead: groups of pictures on several decoders where the batches of
/// whole groups fit the memory bound, else one decoder with threads of its own. Each frame is written straight into its
/// batch by the thread that decoded it.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(FrameReaderImpl& reader,
                                                                              const FrameSelection& selection,
                                                                              std::int64_t batch_size,
                                                                              const Transform& transform);

}  // namespace tricodec
