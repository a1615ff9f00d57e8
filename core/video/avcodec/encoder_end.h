// SPDX-License-Identifier: Apache-2.0
/// Encoders that must have seen the end of a stream before they are closed.
#pragma once

#include "media/ffmpeg.h"

namespace tricodec {

/// Brings an open encoder to where it can be closed; nothing for those that can be closed at any time.
///
/// SVT-AV1 (seen with 1.4.1 under load) waits for its own threads for ever when it is closed without a picture, or
/// before the end of its stream: it is given a picture if it had none, then the end, and its packets are dropped.
/// `has_pictures` and `has_end` say what it was given.
void end_before_close(AVCodecContext& context, bool has_pictures, bool has_end) noexcept;

}  // namespace tricodec
