// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tricodec {

/// A caller's CUDA stream, by its driver handle (a CUstream or cudaStream_t as a number). 0 and 1 are the
/// legacy default stream, 2 the per-thread one. The caller keeps the stream alive; work queued on it belongs to
/// the context the stream was made in.
struct StreamView {
    std::uintptr_t handle = 0;

    friend bool operator==(const StreamView&, const StreamView&) = default;
};

/// A caller's CUDA event, by its driver handle (a CUevent or cudaEvent_t as a number). The caller keeps it alive.
struct EventView {
    std::uintptr_t handle = 0;
};

}  // namespace tricodec
