// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tricodec/io/stream_info.h"

namespace tricodec {

/// True for MPEG-4 with fields. Each thread of libavcodec keeps the vectors of fields that it has decoded itself, and B
/// pictures take those of the picture before.
[[nodiscard]] bool is_decoded_by_one_thread(const StreamInfo& stream);

}  // namespace tricodec
