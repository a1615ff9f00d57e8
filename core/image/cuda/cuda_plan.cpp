// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/cuda_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/driver.h"
#include "base/cuda/gpu_time.h"
#include "image/cuda/module.h"
#include "tricodec/base/error.h"

namespace tricodec::image::gpu {
namespace {

/// Shared memory that every block may have without an attribute of the kernel.
constexpr std::size_t kSharedBytesOfAll = 48 * 1024;

void start(const std::shared_ptr<cuda::Context>& context, const Launch& launch, std::size_t num_frames,
           StreamView stream) {
    const cuda::FunctionHandle function = find_kernel(context, launch.kernel);
    // The driver copies the arguments before it returns; it takes pointers to them, but does not change them.
    const void* const args = std::visit([](const auto& own) { return static_cast<const void*>(&own); }, launch.args);
    void* argument = const_cast<void*>(args);
    // Once for each kernel would suffice; a repetition costs next to nothing.
    if (launch.shared_bytes > kSharedBytesOfAll) {
        cuda::check(cuda::api().function_set_attribute(function, cuda::FunctionAttribute::max_dynamic_shared_size_bytes,
                                                       static_cast<int>(launch.shared_bytes)),
                    "giving shared memory to the kernel " + launch.kernel);
    }
    const cuda::GpuTime time(context, Stage::transform, static_cast<std::int64_t>(num_frames), stream);
    cuda::check(cuda::api().launch_kernel(function, launch.blocks_x, launch.blocks_y, launch.blocks_z, launch.threads,
                                          1, 1, launch.shared_bytes, cuda::handle_of(stream), &argument, nullptr),
                "starting the kernel " + launch.kernel);
}

bool have_same_steps(const Target& a, const Target& b) {
    return a.step_x == b.step_x && a.step_y == b.step_y && a.slot_offset == b.slot_offset;
}

}  // namespace

KernelPlan::KernelPlan(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    const SourcePlanes planes = source_planes(*plan_);
    convert_ = ConvertPlan::make(*plan_, tables_);
    tile_.emplace(*plan_, planes, tables_);
}

Launch KernelPlan::launch(const std::byte* tables, std::span<const Item> items) const {
    TRICODEC_INVARIANT(!items.empty() && items.size() <= kMaxFrames);
    const Batch batch{*plan_, tables, items};
    auto launch = convert_ ? convert_->launch(batch) : std::nullopt;
    return launch ? std::move(*launch) : tile_->launch(batch);
}

std::shared_ptr<cuda::Memory> CudaPlan::tables_in(const std::shared_ptr<cuda::Context>& context) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(tables_.begin(), tables_.end(), [&](const auto& memory) { return memory->context() == context; });
    if (found != tables_.end()) return *found;

    // The host waits here, once for each plan and context, so that launches on any stream may read the tables at once.
    const std::span<const std::byte> bytes = kernels_.tables();
    const cuda::Stream stream(context);
    const cuda::ContextScope scope(*context);
    auto memory = cuda::Memory::allocate(context, bytes.size(), stream);
    cuda::check(cuda::api().copy_async(memory->data(), bytes.data(), bytes.size(), handle_of(stream)),
                "copying a transform's coefficients");
    stream.synchronize();
    tables_.push_back(memory);
    return memory;
}

std::string CudaPlan::describe(const Job& job) {
    const auto context = cuda::Context::primary(job.frame->device.index);
    const auto tables = tables_in(context);
    const Item item{job.frame, target_of(kernels_.plan(), *job.out)};
    const auto launch = kernels_.launch(static_cast<const std::byte*>(tables->data()), {&item, 1});
    std::string text = "kernel " + launch.kernel + ", grid " + std::to_string(launch.blocks_x) + " x " +
                       std::to_string(launch.blocks_y) + " x " + std::to_string(launch.blocks_z) + ", " +
                       std::to_string(launch.threads) + " threads";
    if (launch.shared_bytes > 0) text += ", " + std::to_string(launch.shared_bytes) + " bytes of shared memory";
    return text;
}

void CudaPlan::run(std::span<const Job> jobs, StreamView stream) {
    const Device device = jobs[0].frame->device;
    const auto context = cuda::Context::of(stream, device.index);
    TRICODEC_EXPECT(context->device() == device, invalid_argument,
                    "transform: the stream is of " + context->device().to_string() + ", the frames are on " +
                        device.to_string() + "; pass a stream of the frames' GPU");
    const auto tables = tables_in(context);
    const cuda::ContextScope scope(*context);
    std::vector<Item> items;
    items.reserve(jobs.size());
    for (const Job& job : jobs) {
        items.push_back({job.frame, target_of(kernels_.plan(), *job.out)});
        if (job.frame->buffer) job.frame->buffer->wait_on(stream);
    }
    for (std::size_t begin = 0; begin < items.size();) {
        std::size_t end = begin + 1;
        while (end < items.size() && end - begin < kMaxFrames &&
               have_same_steps(items[begin].target, items[end].target)) {
            ++end;
        }
        const auto batch = std::span(items).subspan(begin, end - begin);
        start(context, kernels_.launch(static_cast<const std::byte*>(tables->data()), batch), batch.size(), stream);
        begin = end;
    }
    tables->used_on(stream);
    std::vector<std::shared_ptr<Buffer>> buffers;
    buffers.reserve(jobs.size());
    for (const Job& job : jobs) {
        if (job.frame->buffer) buffers.push_back(job.frame->buffer);
    }
    Buffer::used_on(buffers, stream);
}

}  // namespace tricodec::image::gpu
