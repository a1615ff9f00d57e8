// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "tricodec/media_target.h"

namespace tricodec::python {

namespace py = pybind11;

/// A target from a str or os.PathLike (a file), or an object with write(bytes) and, if it can, seek(offset, whence) and
/// read(n). Raises TypeError for anything else. None is memory: `memory` then holds the bytes.
struct Target {
    MediaTarget target;
    std::shared_ptr<std::vector<std::byte>> memory;  ///< null unless the target is memory
};
[[nodiscard]] Target to_media_target(const py::object& target);

}  // namespace tricodec::python
