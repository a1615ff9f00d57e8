// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tricodec/tensor/tensor.h"

/// The in-memory layout of the DLPack exchange format, versions 0.8 and 1.x (dmlc.github.io/dlpack).
namespace tricodec::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };

struct DLDevice {
    std::int32_t device_type;
    std::int32_t device_id;
};

struct DLDataType {
    std::uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct DLTensor {
    void* data;
    DLDevice device;
    std::int32_t ndim;
    DLDataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;  // in elements
    std::uint64_t byte_offset;
};

struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
    std::uint32_t major;
    std::uint32_t minor;
};

inline constexpr std::uint64_t kFlagReadOnly = 1;
inline constexpr std::uint64_t kFlagIsCopied = 2;

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned* self);
    std::uint64_t flags;
    DLTensor dl_tensor;
};

/// Makes a managed tensor that keeps `owner` alive until its deleter runs. The consumer must run the deleter once.
[[nodiscard]] DLManagedTensor* export_tensor(const TensorView& view, std::shared_ptr<const void> owner);
[[nodiscard]] DLManagedTensorVersioned* export_tensor_versioned(const TensorView& view,
                                                                std::shared_ptr<const void> owner, std::uint64_t flags);

/// Reads a DLTensor's description; the memory stays the producer's. Throws Error(unsupported) on other dtypes.
[[nodiscard]] TensorView import_tensor(const DLTensor& tensor);

[[nodiscard]] DLDevice to_dlpack(Device device) noexcept;

}  // namespace tricodec::dlpack
