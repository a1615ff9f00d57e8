// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/dlpack.h"

#include <array>
#include <string>
#include <vector>

#include "tricodec/base/error.h"

namespace tricodec::dlpack {
namespace {

/// What a managed tensor points into: freed by its deleter.
template <class Managed>
struct Export {
    Managed managed{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::shared_ptr<const void> owner;
};

DLDataType to_dlpack_dtype(DType dtype) noexcept {
    constexpr std::array<std::uint8_t, kNumDTypes> kCodes = {1, 1, 0, 0, 0, 2, 2, 2, 4};  // by DType
    return {kCodes[static_cast<std::size_t>(dtype)], static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

template <class Managed>
Managed* make_export(const TensorView& view, std::shared_ptr<const void> owner) {
    auto box = std::make_unique<Export<Managed>>();
    box->shape = view.shape;
    for (const auto stride : view.strides_bytes) {
        box->strides.push_back(stride / static_cast<std::int64_t>(size_of(view.dtype)));
    }
    box->owner = std::move(owner);
    auto& tensor = box->managed.dl_tensor;
    tensor.data = view.data;
    tensor.device = to_dlpack(view.device);
    tensor.ndim = static_cast<std::int32_t>(box->shape.size());
    tensor.dtype = to_dlpack_dtype(view.dtype);
    tensor.shape = box->shape.data();
    tensor.strides = box->strides.data();
    tensor.byte_offset = 0;
    box->managed.manager_ctx = box.get();
    box->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
    return &box.release()->managed;
}

}  // namespace

DLDevice to_dlpack(Device device) noexcept {
    return {device.kind == Device::Kind::cpu ? kCpu : kCuda, device.index};
}

DLManagedTensor* export_tensor(const TensorView& view, std::shared_ptr<const void> owner) {
    return make_export<DLManagedTensor>(view, std::move(owner));
}

DLManagedTensorVersioned* export_tensor_versioned(const TensorView& view, std::shared_ptr<const void> owner,
                                                  std::uint64_t flags) {
    auto* managed = make_export<DLManagedTensorVersioned>(view, std::move(owner));
    managed->version = {1, 0};
    managed->flags = flags;
    return managed;
}

TensorView import_tensor(const DLTensor& tensor) {
    TensorView view;
    bool found = false;
    for (int i = 0; i < kNumDTypes && !found; ++i) {
        const auto candidate = to_dlpack_dtype(static_cast<DType>(i));
        found = candidate.code == tensor.dtype.code && candidate.bits == tensor.dtype.bits && tensor.dtype.lanes == 1;
        if (found) view.dtype = static_cast<DType>(i);
    }
    TRICODEC_EXPECT(found, unsupported,
                    "a DLPack tensor of type code " + std::to_string(tensor.dtype.code) + " with " +
                        std::to_string(tensor.dtype.bits) +
                        " bits is not supported; use uint8, uint16, int16, int32, int64, bfloat16 or float");
    const auto type = tensor.device.device_type;
    TRICODEC_EXPECT(
        type == kCpu || type == kCuda || type == kCudaHost, unsupported,
        "a DLPack tensor on device type " + std::to_string(type) + " is not supported; use CPU or CUDA memory");
    view.device = type == kCuda ? Device{Device::Kind::cuda, tensor.device.device_id} : Device{};
    view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides == nullptr) {
        view.strides_bytes = contiguous_strides(view.shape, view.dtype);
    } else {
        for (int i = 0; i < tensor.ndim; ++i) {
            view.strides_bytes.push_back(tensor.strides[i] * static_cast<std::int64_t>(size_of(view.dtype)));
        }
    }
    return view;
}

}  // namespace tricodec::dlpack
