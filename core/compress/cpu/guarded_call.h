// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "tricodec/compress/compress.h"

namespace tricodec::compress {

/// Runs `fill` in a child process, so that a decoder that faults on hostile bytes does not end this process. `fill`
/// writes to the given memory, which is copied to `output` if the child succeeds. It must not throw, and returns false
/// if the bytes are damaged. The child is ended after `seconds`. Throws Error(corrupt_data) naming `what` if the child
/// fails in any way.
void run_guarded(std::span<std::byte> output, const std::function<bool(std::span<std::byte>)>& fill, double seconds,
                 const char* what);

}  // namespace tricodec::compress
