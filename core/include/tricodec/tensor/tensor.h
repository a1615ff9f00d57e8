// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tricodec/base/buffer.h"
#include "tricodec/base/device.h"
#include "tricodec/tensor/dtype.h"

namespace tricodec {

/// A strided view of memory that another object keeps alive. Strides are in bytes.
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::uint8;
    Device device{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides_bytes;

    [[nodiscard]] std::int64_t num_elements() const noexcept;
    [[nodiscard]] bool is_contiguous() const noexcept;
    /// The view of element `index` along the first axis.
    [[nodiscard]] TensorView operator[](std::int64_t index) const;
    /// Elements [begin, end) along the first axis.
    [[nodiscard]] TensorView slice(std::int64_t begin, std::int64_t end) const;
};

/// C-contiguous strides in bytes.
[[nodiscard]] std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape, DType dtype);

/// "float32 [4, 3, 224, 224] on cpu", for messages.
[[nodiscard]] std::string describe(const TensorView& view);

/// A view that shares ownership of its memory.
struct Tensor {
    TensorView view;
    std::shared_ptr<const void> owner;
    /// On a GPU, the memory, which knows the work that writes it; null on the CPU. A reader first waits by it, and
    /// reports its stream to it.
    std::shared_ptr<Buffer> buffer;

    /// Uninitialised C-contiguous memory on `device`, for work on `stream` to write; throws Error(refused) past
    /// Limits::max_output_bytes, Error(out_of_memory).
    [[nodiscard]] static Tensor empty(const std::vector<std::int64_t>& shape, DType dtype, Device device = {},
                                      StreamView stream = {});
    /// The same in page-locked host memory, which the GPU `device` copies to by itself.
    [[nodiscard]] static Tensor empty_pinned(const std::vector<std::int64_t>& shape, DType dtype, Device device);
};

/// A C-contiguous copy in host memory of an array on a GPU, which must be C-contiguous or have rows that are; `buffer`,
/// if any, is its memory. The copy is page-locked up to 256 MiB, or if `page_locked`. The host waits for it, and for
/// nothing after it. Throws Error(unsupported) for other strides, Error(device, out_of_memory).
[[nodiscard]] Tensor to_host(const TensorView& view, const Buffer* buffer, bool page_locked = false);
/// A C-contiguous copy on the same GPU that work on `stream` makes; the call does not wait. Throws the same.
[[nodiscard]] Tensor copy_on_device(const TensorView& view, const Buffer* buffer, StreamView stream);

}  // namespace tricodec
