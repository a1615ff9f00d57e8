// SPDX-License-Identifier: Apache-2.0
#include "gpu_stream.h"

#include <string>

#include "errors.h"
#include "tricodec/gpu.h"

namespace tricodec::plugin {

Device usable_gpu(const ::dali::OpSpec& spec, const char* operation) {
    const int index = spec.GetArgument<int>("device_id");
    const std::string name = std::string("fn.tricodec.") + operation;
    if (index < 0) {
        throw_dali(ErrorCode::device,
                   name +
                       " works on a GPU here, and the pipeline has none; pass device_id= to the pipeline, or "
                       "device=\"cpu\" to the operator");
    }
    const std::string reason = gpu_unusable_reason(index);
    if (!reason.empty()) {
        throw_dali(ErrorCode::device, name + " cannot work on GPU " + std::to_string(index) + ": " + reason +
                                          "; pass device=\"cpu\" to the operator");
    }
    return {Device::Kind::cuda, index};
}

namespace {

/// DALI's view of bytes that somebody else keeps.
template <typename Backend>
::dali::Tensor<Backend> tensor_over(const void* data, std::size_t size, int device_index, ::dali::AccessOrder order) {
    ::dali::Tensor<Backend> tensor;
    tensor.ShareData(const_cast<void*>(data), size, false, ::dali::TensorShape<>{static_cast<std::int64_t>(size)},
                     DALI_UINT8, device_index, order);
    return tensor;
}

}  // namespace

void copy_on_device(void* to, const void* from, std::size_t size, int device_index, ::dali::AccessOrder order) {
    if (size == 0) return;
    tensor_over<::dali::GPUBackend>(to, size, device_index, order)
        .Copy(tensor_over<::dali::GPUBackend>(from, size, device_index, order), order);
}

void copy_to_device(void* to, std::span<const std::byte> from, int device_index, ::dali::AccessOrder order) {
    if (from.empty()) return;
    // Not page-locked: the driver keeps a copy of its own until the transfer is done.
    tensor_over<::dali::GPUBackend>(to, from.size(), device_index, order)
        .Copy(tensor_over<::dali::CPUBackend>(from.data(), from.size(), ::dali::CPU_ONLY_DEVICE_ID,
                                              ::dali::AccessOrder::host()),
              order);
}

}  // namespace tricodec::plugin
