// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "tricodec/base/thread_pool.h"

namespace tricodec {

/// Host memory on its way elsewhere.
struct ByteCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t size = 0;
};

/// Copies what does not overlap, in pieces, on at most `num_threads` threads; on those of `runner` if there is one.
void copy_parallel(std::span<const ByteCopy> copies, int num_threads, const TaskRunner& runner = {});

}  // namespace tricodec
