// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/cuda/context.h"
#include "tricodec/base/profiler.h"

namespace tricodec::cuda {

/// Times on the GPU what is queued on a stream while this lives, for a Profiler; without one it does nothing. Nor does
/// it in a caller's context, which may be gone before the times are asked for. The context must be current. The host
/// does not wait.
class GpuTime {
public:
    GpuTime(const Context& context, Stage stage, StreamView stream) noexcept;
    GpuTime(const GpuTime&) = delete;
    GpuTime& operator=(const GpuTime&) = delete;
    ~GpuTime();

private:
    Stage stage_;
    StreamView stream_;
    EventHandle begin_ = nullptr;
};

}  // namespace tricodec::cuda
