// SPDX-License-Identifier: Apache-2.0
/// Where the result of a Transform goes: new memory on the CPU or a GPU, or the caller's.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "arrays/array_view.h"
#include "tricodec/frame.h"
#include "tricodec/tensor.h"
#include "tricodec/transform.h"

namespace tricodec::python {

namespace py = pybind11;

/// New host memory for a result that is made on `made_on`: page-locked if that is wanted and there is a GPU to lock it
/// for.
[[nodiscard]] Tensor empty_on_host(const std::vector<std::int64_t>& shape, DType dtype, const Device& made_on,
                                   bool pinned);

/// Writes host memory to an array there of the same shape and type. The lock must be held.
void copy_to(const TensorView& from, const ArrayView& to);

/// The tensor in page-locked host memory, where there is a GPU to lock it for.
[[nodiscard]] Tensor in_pinned_memory(Tensor tensor);

/// `frames` through `transform`, [N, ...] or, if `single`, without the first axis. None for `out` makes a new array: a
/// numpy array, or a DeviceArray for frames on a GPU unless `pinned`. With `stream` nobody waits for a GPU.
[[nodiscard]] py::object transform_frames(const Transform& transform, std::span<const Frame> frames, bool single,
                                          const py::object& out, std::optional<StreamView> stream, bool pinned);

/// The frame, which work queued on `stream` from now on sees complete.
inline Frame lent(Frame frame, std::optional<StreamView> stream) {
    if (stream && frame.buffer) frame.buffer->lend_to(*stream);
    return frame;
}

}  // namespace tricodec::python
