// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/cuda/context.h"

namespace tricodec::cuda {

/// A stream of the calling thread's own in `context`: one thread's wait is not another's. Gone with the thread or the
/// context.
[[nodiscard]] StreamView thread_stream(const std::shared_ptr<Context>& context);

}  // namespace tricodec::cuda
