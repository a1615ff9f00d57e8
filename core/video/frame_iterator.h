// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "video/frame_reader_impl.h"

namespace tricodec {

/// One decoder that runs on, or, for a long read whose packets are known, groups of pictures decoded ahead on several.
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_frame_iterator(FrameReaderImpl& reader,
                                                                         const FrameSelection& selection);

/// One decoder, frame after frame; those between two that are wanted are dropped. `count` -1: to the end.
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_streaming_iterator(FrameReaderImpl& reader,
                                                                             std::int64_t start, std::int64_t stride,
                                                                             std::int64_t count);

}  // namespace tricodec
