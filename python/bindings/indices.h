// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tricodec::python {

/// True for an integer of Python or numpy, which stands for one frame.
[[nodiscard]] bool is_index(const pybind11::handle& value);

/// The integer. Raises TypeError for bool, IndexError beyond 64 bits.
[[nodiscard]] std::int64_t to_index(const pybind11::handle& value);

/// True for a slice of everything in order, `[:]`.
[[nodiscard]] bool is_whole_slice(const pybind11::handle& value);

/// Frame numbers from a slice, or from integers in a list, tuple, range or array, negative ones counted from the end.
/// `num_frames` is asked only if it is needed.
[[nodiscard]] std::vector<std::int64_t> resolve_indices(const pybind11::object& value,
                                                        const std::function<std::int64_t()>& num_frames);

}  // namespace tricodec::python
