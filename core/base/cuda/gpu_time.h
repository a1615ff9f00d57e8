// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/cuda/context.h"
#include "tricodec/base/profiler.h"

namespace tricodec::cuda {

struct GpuTimeAnchor;

/// Times on the GPU what is queued on a stream while this lives, for a Profiler. Without one it does nothing. Nor does
/// it in a caller's context, which may be gone before the times are asked for. The context must be current. The host
/// does not wait.
class GpuTime {
public:
    GpuTime(const std::shared_ptr<Context>& context, Stage stage, std::int64_t num_frames, StreamView stream) noexcept;
    GpuTime(const GpuTime&) = delete;
    GpuTime& operator=(const GpuTime&) = delete;
    ~GpuTime();

private:
    Device device_;
    Stage stage_;
    std::int64_t num_frames_;
    StreamView stream_;
    std::shared_ptr<const GpuTimeAnchor> anchor_{};
    EventHandle begin_ = nullptr;
};

}  // namespace tricodec::cuda
