// SPDX-License-Identifier: Apache-2.0
/// What the codecs of both engines have in common: places for results.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <vector>

#include "compress_array.h"

namespace tricodec::python {

/// Memory of the caller's for `count` results on `device`; null for each if there is none. An Array that a codec made
/// may be given more, other memory has the size it has. Raises ValueError for memory that cannot be written.
[[nodiscard]] std::vector<ArrayPtr> to_outputs(const py::object& outs, std::size_t count, Device device);

/// Raises ValueError where an output shares bytes with a source or with another output, of to_outputs() of the caller's
/// memory: a codec writes there while it still reads.
void expect_apart(std::span<const ArrayPtr> sources, std::span<const ArrayPtr> outputs);

/// `size` bytes in `output`, which is made if there is none and grown if it may be. Throws Error(invalid_argument).
[[nodiscard]] std::byte* provide(ArrayPtr& output, std::size_t size, Device device = {}, StreamView stream = {});

/// Sizes that the caller knows; empty for None. Raises ValueError unless there are `count`.
[[nodiscard]] std::vector<std::size_t> to_sizes(const py::object& sizes, std::size_t count);

}  // namespace tricodec::python
