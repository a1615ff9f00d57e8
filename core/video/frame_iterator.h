// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "video/frame_reader_impl.h"

namespace tricodec {

/// One decoder that runs on, or, for a long read whose packets are known, groups of pictures decoded ahead on several.
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_frame_iterator(FrameReaderImpl& reader,
                                                                         const FrameSelection& selection);

}  // namespace tricodec
