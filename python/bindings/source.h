// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "tricodec/media_source.h"

namespace tricodec::python {

namespace py = pybind11;

/// A source from a str or os.PathLike (a file), a bytes-like object (borrowed, not copied) or an object with read(n)
/// and, if it can, seek(offset, whence). Raises TypeError for anything else.
[[nodiscard]] MediaSource to_media_source(const py::object& source);

/// The bytes of a C-contiguous buffer, which stays exported until the last copy of `owner` goes.
struct BorrowedBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};
[[nodiscard]] BorrowedBytes borrow_bytes(const py::object& object);

}  // namespace tricodec::python
