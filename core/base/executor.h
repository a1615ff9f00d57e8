// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tricodec {

/// Runs `task` on a thread of the process-wide pool, soon. It must not throw.
void submit(std::function<void()> task);

}  // namespace tricodec
