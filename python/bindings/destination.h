// SPDX-License-Identifier: Apache-2.0
/// What `out=` takes: memory of the caller's for the core to write a result to.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tricodec/stream.h"
#include "tricodec/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// The checked view of an array of the caller's. It holds the array's export, so it must be dropped with the
/// interpreter's lock held, after the last write.
struct Destination {
    TensorView view;
    std::shared_ptr<void> held;
    /// Of memory on a GPU: what is queued here from now on comes after the work that the array's owner has queued.
    StreamView stream{};

    [[nodiscard]] bool on_gpu() const noexcept { return view.device.kind == Device::Kind::cuda; }
};

/// `out` as the place of a result in host memory: a numpy array, or anything that exports writable memory by DLPack
/// (torch tensors), the buffer protocol or __array_interface__, with any strides that keep its elements apart.
/// Raises TypeError for other objects and dtypes, ValueError for another shape or device and for memory that must not
/// be written; the text names what is there and what is needed.
[[nodiscard]] Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape);
/// The same for a result that is made on `device`; memory on a GPU, by DLPack or __cuda_array_interface__, is taken
/// too: on that GPU, or on any if the device is the CPU. `stream` is the caller's; without one a stream of this
/// thread's own orders the work.
[[nodiscard]] Destination to_destination(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                                         const Device& device, std::optional<StreamView> stream);
/// A readable array on a GPU, by the same interfaces; nothing for an object in host memory, of which nothing is asked.
/// What is queued on the destination's `stream` from now on sees its elements.
[[nodiscard]] std::optional<Destination> find_on_gpu(const py::object& array);

/// `out` as a run of exactly `size_bytes` bytes in host memory: any of the above that is C-contiguous, of any shape and
/// element type. The view is uint8 with one axis.
[[nodiscard]] Destination to_byte_destination(const py::object& out, std::int64_t size_bytes);

}  // namespace tricodec::python
