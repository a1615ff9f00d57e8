// SPDX-License-Identifier: Apache-2.0
/// What an object of Python says of its memory, before it is checked.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "destination.h"
#include "tricodec/dtype.h"

namespace tricodec::python {

struct Offer {
    Destination to;
    std::optional<DType> dtype;  ///< none if the core has no such element type
    std::string dtype_name;
    std::int64_t itemsize = 1;
    bool read_only = false;
};

/// Where an object with __dlpack__ and __dlpack_device__ is. Raises ValueError for what is neither CPU nor CUDA.
[[nodiscard]] Device dlpack_place(const py::object& array);
/// Its export; on a GPU ordered before what is queued on `stream` from now on.
[[nodiscard]] Offer from_dlpack(const py::object& array, const Device& place, StreamView stream);
/// What __cuda_array_interface__ describes; `stream` as above, or a stream of this thread's on the memory's GPU.
[[nodiscard]] Offer from_cuda_array_interface(const py::object& array, std::optional<StreamView> stream);

}  // namespace tricodec::python
