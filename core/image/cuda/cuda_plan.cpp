// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/cuda_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/driver.h"
#include "base/cuda/gpu_time.h"
#include "image/cuda/async_copy.h"
#include "image/cuda/module.h"
#include "tricodec/error.h"

namespace tricodec::image::gpu {
namespace {

/// What the driver makes of a plane for copies of boxes; false if it cannot. Its enumerations: bytes, not interleaved,
/// the pattern for 64 bytes, 128 bytes to the L2 cache, zeros outside.
bool encode(const BoxMap& map, TensorMap& encoded) {
    enum : int { kUint8 = 0, kInterleaveNone = 0, kSwizzle64 = 2, kPromotion128 = 2, kFillZeros = 0 };
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    const std::array<std::uint64_t, 3> size{number(map.width), number(map.height), number(map.num_multiples)};
    const std::array<std::uint64_t, 2> strides{number(map.stride), number(map.distance)};
    const std::array<std::uint32_t, 3> box{kBandBytes, static_cast<std::uint32_t>(map.rows), 1};
    const std::array<std::uint32_t, 3> steps{1, 1, 1};
    return cuda::api().tensor_map_encode_tiled(&encoded, kUint8, 3, const_cast<unsigned char*>(map.base), size.data(),
                                               strides.data(), box.data(), steps.data(), kInterleaveNone, kSwizzle64,
                                               kPromotion128, kFillZeros) == cuda::kSuccess;
}

/// The arguments of a launch as the kernel takes them; none where the driver does not describe the frames to the copy
/// engine.
std::optional<BoxArgs<TensorMap>> encoded(const BoxArgs<BoxMap>& args) {
    BoxArgs<TensorMap> boxes{args, {}};
    if (!encode(args.maps[0], boxes.maps[0]) || !encode(args.maps[1], boxes.maps[1])) return std::nullopt;
    return boxes;
}

/// `boxes`, if any, are the arguments in the launch's place.
void start(const std::shared_ptr<cuda::Context>& context, const Launch& launch,
           const std::optional<BoxArgs<TensorMap>>& boxes, StreamView stream) {
    const cuda::FunctionHandle function = find_kernel(context, launch.kernel);
    // The driver copies the arguments before it returns; it takes them as pointers to what it will not change.
    const void* const args =
        boxes ? &*boxes : std::visit([](const auto& own) { return static_cast<const void*>(&own); }, launch.args);
    void* argument = const_cast<void*>(args);
    // Of more than that a kernel is told once; being told again costs next to nothing.
    if (launch.shared_bytes > kSharedBytesOfAll) {
        cuda::check(cuda::api().function_set_attribute(function, cuda::FunctionAttribute::max_dynamic_shared_size_bytes,
                                                       static_cast<int>(launch.shared_bytes)),
                    "giving shared memory to the kernel " + launch.kernel);
    }
    const cuda::GpuTime time(*context, Stage::transform, stream);
    cuda::check(cuda::api().launch_kernel(function, launch.blocks_x, launch.blocks_y, launch.blocks_z, launch.threads,
                                          1, 1, launch.shared_bytes, cuda::handle_of(stream), &argument, nullptr),
                "starting the kernel " + launch.kernel);
}

bool have_same_steps(const Target& a, const Target& b) {
    return a.step_x == b.step_x && a.step_y == b.step_y && a.slot_offset == b.slot_offset;
}

}  // namespace

std::shared_ptr<cuda::Memory> CudaPlan::tables_in(const std::shared_ptr<cuda::Context>& context) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(tables_.begin(), tables_.end(), [&](const auto& memory) { return memory->context() == context; });
    if (found != tables_.end()) return *found;

    // Waited for, once a plan and context, so that launches on any stream may read them without waiting.
    const std::span<const std::byte> bytes = kernels_.tables();
    const cuda::Stream stream(context);
    const cuda::ContextScope scope(*context);
    auto memory = cuda::Memory::allocate(context, bytes.size(), stream);
    cuda::check(cuda::api().copy_to_device_async(memory->pointer(), bytes.data(), bytes.size(), handle_of(stream)),
                "copying a transform's coefficients");
    stream.synchronize();
    tables_.push_back(memory);
    return memory;
}

void CudaPlan::run(std::span<const Job> jobs, StreamView stream) {
    const Device device = jobs[0].frame->device;
    const auto context = cuda::Context::of(stream, device.index);
    TRICODEC_EXPECT(context->device() == device, invalid_argument,
                    "transform: the stream is of " + context->device().to_string() + ", the frames are on " +
                        device.to_string() + "; pass a stream of the frames' GPU");
    const auto tables = tables_in(context);
    const cuda::DeviceProperties& gpu = context->properties();
    const std::size_t shared_bytes = gpu.major >= 8 ? gpu.max_shared_memory_per_block_bytes : 0;
    const bool boxes = gpu.major >= 9 && cuda::api().tensor_map_encode_tiled != nullptr;
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
        const auto launch_of = [&](bool with_boxes) {
            return kernels_.launch(static_cast<const std::byte*>(tables->data()),
                                   std::span(items).subspan(begin, end - begin), shared_bytes, gpu.multiprocessors,
                                   with_boxes);
        };
        Launch launch = launch_of(boxes);
        std::optional<BoxArgs<TensorMap>> box_args;
        if (const auto* args = std::get_if<BoxArgs<BoxMap>>(&launch.args)) {
            box_args = encoded(*args);
            if (!box_args) launch = launch_of(false);
        }
        start(context, launch, box_args, stream);
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
