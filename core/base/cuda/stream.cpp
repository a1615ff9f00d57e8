// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/cuda/context.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"

namespace tricodec {
namespace {

/// The GPU of the calling thread's context, 0 without one, as the CUDA runtime has it.
int current_device(const cuda::Api& api) {
    cuda::ContextHandle context = nullptr;
    cuda::DeviceHandle device = 0;
    if (api.context_get_current(&context) != cuda::kSuccess || context == nullptr) return 0;
    cuda::check(api.context_get_device(&device), "asking for the current GPU");
    return device;
}

int device_of_stream(const cuda::Api& api, StreamView stream) {
    cuda::ContextHandle context = nullptr;
    cuda::check(api.stream_get_context(cuda::handle_of(stream), &context), "asking for a stream's context");
    const cuda::ContextScope scope(context);
    cuda::DeviceHandle device = 0;
    cuda::check(api.context_get_device(&device), "asking for a stream's GPU");
    return device;
}

}  // namespace

std::shared_ptr<CudaStream> CudaStream::borrow(std::uintptr_t handle, int device_index) {
    TRICODEC_EXPECT(device_index >= -1, invalid_argument,
                    "device_idx is " + std::to_string(device_index) + "; it must be a GPU's number, or -1");
    const StreamView view{handle};
    const bool special = handle <= 2;
    const cuda::Api* api = cuda::try_api();
    int device = device_index;
    if (special) {
        if (device == -1) device = api == nullptr ? 0 : current_device(*api);
        TRICODEC_EXPECT(api == nullptr || device < api->num_devices, invalid_argument,
                        "device_idx is " + std::to_string(device_index) + "; there are " +
                            std::to_string(api == nullptr ? 0 : api->num_devices) + " GPUs");
    } else {
        device = device_of_stream(cuda::api(), view);
        TRICODEC_EXPECT(device_index == -1 || device_index == device, invalid_argument,
                        "device_idx is " + std::to_string(device_index) + ", but the stream is of device " +
                            std::to_string(device) + "; pass that, or -1");
    }
    return std::shared_ptr<CudaStream>(new CudaStream(view, device, nullptr));
}

std::shared_ptr<CudaStream> CudaStream::make_new(int device_index) {
    const cuda::Api& api = cuda::api();
    const int device = device_index == -1 ? current_device(api) : device_index;
    auto owned = std::make_shared<cuda::Stream>(cuda::Context::primary(device), /*is_kept=*/false);
    const StreamView view = owned->view();
    return std::shared_ptr<CudaStream>(new CudaStream(view, device, std::move(owned)));
}

void CudaStream::synchronize() const {
    const cuda::Api* api = cuda::try_api();
    if (api == nullptr) return;
    const auto context = cuda::Context::of(view_, device_index_);
    const cuda::ContextScope scope(*context);
    cuda::check(api->stream_synchronize(cuda::handle_of(view_)), "waiting for a stream");
}

void record_event(EventView event, StreamView stream, int device_index) {
    const auto context = cuda::Context::of(stream, device_index);
    const cuda::ContextScope scope(*context);
    cuda::check(cuda::api().event_record(reinterpret_cast<cuda::EventHandle>(event.handle), cuda::handle_of(stream)),
                "recording the caller's event (input_consumed), which must be of cuda:" + std::to_string(device_index));
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t size_bytes,
                StreamView stream, bool wait) {
    if (size_bytes == 0) return;
    const cuda::Api& api = cuda::api();
    const bool to_host = to_device.kind == Device::Kind::cpu;
    const auto context = cuda::Context::of(stream, to_host ? from_device.index : to_device.index);
    const cuda::ContextScope scope(*context);
    const auto handle = cuda::handle_of(stream);
    cuda::check(api.copy_async(to, from, size_bytes, handle), "copying " + std::to_string(size_bytes) + " bytes");
    if (wait || to_host) cuda::check(api.stream_synchronize(handle), "waiting for a copy");
}

Device device_of_memory(const void* data) {
    return gpu_of(data).value_or(Device{});
}

}  // namespace tricodec
