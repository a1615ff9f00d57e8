// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tricodec/decode/decoder.h"

namespace tricodec {

/// `first`, as long as it gets on with the stream; then what `make_second` makes, with the same frames as if that had
/// decoded the whole stream. Headers do not tell all that a decoder must be able to do, and devices run out of memory.
///
/// Note [Taking over]: a decoder that fails before it has given a frame is replaced, whatever it lacks. Later it is
/// replaced at a picture that it does not take (Error(unsupported), DecodeIssue::refused): the packets from a key frame
/// before the last one on are kept, go to the second decoder, and frames that were given already are dropped. Where
/// key frames are so far apart that those packets take more than 16 MiB, the picture is lost and reported.
[[nodiscard]] std::unique_ptr<Decoder> with_fallback(std::unique_ptr<Decoder> first, const StreamInfo& stream,
                                                     std::function<std::unique_ptr<Decoder>()> make_second);

}  // namespace tricodec
