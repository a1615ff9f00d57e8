// SPDX-License-Identifier: Apache-2.0
/// The arrays of callers that results are written to: `out=`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arrays/array_view.h"

namespace tricodec::python {

/// `out`, checked, for a result in host memory: any writable array with strides that keep its elements apart. Raises
/// TypeError for other objects and dtypes, ValueError for another shape or device and for read-only memory; the text
/// names what is there and what is needed.
[[nodiscard]] ArrayView to_out_array(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape);
/// The same for a result that is made on `device`: memory on that GPU is accepted too, or on any GPU if the device is
/// the CPU. What is queued on the array's stream from now on follows the work of its owner. `stream` is the caller's;
/// without one it is a stream of the calling thread.
[[nodiscard]] ArrayView to_out_array(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                                     const Device& device, std::optional<StreamView> stream);
/// `out` as exactly `size_bytes` bytes in host memory: a writable C-contiguous array of any shape and element type.
[[nodiscard]] ArrayView to_out_bytes(const py::object& out, std::int64_t size_bytes);

}  // namespace tricodec::python
