// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/cuda/memory.h"
#include "image/cuda/kernel_plan.h"
#include "image/plan.h"
#include "tricodec/base/device.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image::gpu {

/// A frame on a GPU and the memory there for its result.
struct Job {
    const Frame* frame = nullptr;
    const TensorView* out = nullptr;
};

/// A plan for GPUs: its tables are uploaded once to each context that it runs in. Thread safety: safe.
class CudaPlan {
public:
    explicit CudaPlan(std::shared_ptr<const Plan> plan) : kernels_(std::move(plan)) {}

    [[nodiscard]] const Plan& plan() const noexcept { return kernels_.plan(); }
    /// Queues `jobs`, all of the plan's geometry and on one GPU, on `stream` and does not wait: one launch for every
    /// kMaxFrames frames, which starts when the frames are complete. Throws Error(unsupported, device, out_of_memory).
    void run(std::span<const Job> jobs, StreamView stream);
    /// The kernel of a launch for one frame, with its grid, for people to read.
    [[nodiscard]] std::string describe(const Job& job);

private:
    [[nodiscard]] std::shared_ptr<cuda::Memory> tables_in(const std::shared_ptr<cuda::Context>& context);

    KernelPlan kernels_;
    std::mutex mutex_;
    std::list<std::shared_ptr<cuda::Memory>> tables_;  // one a context
};

}  // namespace tricodec::image::gpu
