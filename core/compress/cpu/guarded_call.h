// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "tricodec/compress.h"

namespace tricodec::compress {

/// Runs `fill` in a child process, so that a decoder that faults on hostile bytes takes nothing else down. `fill`
/// writes the given memory, which is copied to `output` when the child ends well; it must not throw, and returns false
/// if the bytes are damaged. The child is ended after `seconds`. Throws Error(corrupt_data) if it fails in any way,
/// naming `what`.
void run_guarded(std::span<std::byte> output, const std::function<bool(std::span<std::byte>)>& fill, double seconds,
                 const char* what);

}  // namespace tricodec::compress
