// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tricodec/decoder.h"

namespace tricodec {

/// `first`, as long as it gets on with the stream; should it fail before it has given a frame, the packets so far go to
/// what `make_second` makes, which goes on. Headers do not tell all that a decoder must be able to do, and devices run
/// out of memory.
[[nodiscard]] std::unique_ptr<Decoder> with_fallback(std::unique_ptr<Decoder> first,
                                                     std::function<std::unique_ptr<Decoder>()> make_second);

}  // namespace tricodec
