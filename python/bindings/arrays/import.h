// SPDX-License-Identifier: Apache-2.0
/// Arrays of other libraries, of which nothing is copied: numpy, DLPack, __cuda_array_interface__, the
/// buffer protocol and __array_interface__.
#pragma once

#include <optional>

#include "arrays/array_view.h"

namespace tricodec::python {

struct ImportOptions {
    const char* name = "the array";  ///< what messages call the object
    /// On a GPU: work that is queued here from now on sees the array complete. Without one the array's stream is the
    /// one that the object names, else the legacy default stream.
    std::optional<StreamView> stream{};
    /// An object without any of the protocols, such as a list, is converted by numpy.
    bool convert = false;
};

/// The memory of an object, which is kept. The protocols are tried in the order above. Raises TypeError for an object
/// that has none of them, ValueError for a description that contradicts itself.
[[nodiscard]] ArrayView import_array(const py::object& source, const ImportOptions& options);

/// The same for work of the calling thread: without `stream` of the caller it is queued on a stream of the thread.
[[nodiscard]] ArrayView import_for_work(const py::object& source, ImportOptions options);

/// Where an object's memory is, before it is imported. Raises ValueError for other places than the CPU and GPUs.
[[nodiscard]] Device device_of(const py::object& source, const char* name);
[[nodiscard]] inline bool is_on_gpu(const py::object& source, const char* name) {
    return device_of(source, name).kind == Device::Kind::cuda;
}

/// The memory behind a DLPack capsule, which is used up, or an object with __dlpack__.
[[nodiscard]] ArrayView import_dlpack(const py::object& source, const ImportOptions& options);

/// A C-contiguous copy in host memory, which may be written.
[[nodiscard]] ArrayView copied(const ArrayView& array);
/// The array itself if it is C-contiguous, else a copy. Raises ValueError for other strides on a GPU.
[[nodiscard]] ArrayView contiguous_view(ArrayView array);

}  // namespace tricodec::python
