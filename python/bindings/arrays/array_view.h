// SPDX-License-Identifier: Apache-2.0
/// The one description of an array in the bindings: what is imported, exported and handed to the core.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tricodec/tensor/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// The shape or the strides of an array.
using Extents = std::vector<std::int64_t>;

[[nodiscard]] py::tuple to_tuple(const Extents& values);

/// Work on a GPU with results that no caller has used yet. Thread safety: safe.
class PendingResults {
public:
    /// `complete` waits for the work and fills in its arrays.
    explicit PendingResults(std::function<void()> complete) : complete_(std::move(complete)) {}
    /// Calls `complete` once, without the interpreter's lock. Throws its error in each call.
    void finish();
    /// True once finish() has nothing left to do or to throw.
    [[nodiscard]] bool is_finished() const noexcept { return finished_.load(std::memory_order_acquire); }

private:
    std::mutex mutex_;
    std::atomic<bool> finished_{false};
    std::function<void()> complete_;
    std::exception_ptr error_;
};

/// A strided view of memory that it keeps valid. Unlike the core's TensorView it can have any element type of numpy.
struct ArrayView {
    std::byte* data = nullptr;
    std::string typestr = "|u1";  ///< as numpy writes element types, or one of the two below
    std::int64_t itemsize = 1;
    Extents shape;
    Extents strides;  ///< in bytes
    Device device{};
    StreamView stream{};  ///< on a GPU: the array is complete for work that is queued here from now on
    bool read_only = false;
    std::shared_ptr<const void> memory;       ///< keeps the bytes; any thread may drop it
    std::shared_ptr<Buffer> buffer;           ///< on a GPU: the core's memory, which knows the work on it, or null
    std::shared_ptr<PendingResults> pending;  ///< fills in this array when it is first used, or null

    ArrayView() = default;
    /// Memory of the core. In host memory it is read-only, because decoders predict from it.
    ArrayView(const TensorView& view, std::shared_ptr<const void> memory, std::shared_ptr<Buffer> buffer = nullptr);
    /// A result, which its holder may write. A large one is freed without the interpreter's lock.
    explicit ArrayView(Tensor tensor);

    /// Completes a pending array. Every access from Python comes first through here, with the interpreter's lock held.
    void touch() const;

    [[nodiscard]] bool on_gpu() const noexcept { return device.kind == Device::Kind::cuda; }
    /// Number of elements.
    [[nodiscard]] std::int64_t size() const noexcept;
    /// Bytes from the first element to the end of the last.
    [[nodiscard]] std::int64_t span_bytes() const noexcept;
    [[nodiscard]] bool is_contiguous() const noexcept;

    /// The core's element type, or nothing if the core has none for these elements.
    [[nodiscard]] std::optional<DType> dtype() const noexcept;
    /// The array in the form of the core. Raises TypeError if the core does not have its element type.
    [[nodiscard]] TensorView tensor_view() const;
    /// The array and what keeps it, for the core.
    [[nodiscard]] Tensor tensor() const;
    /// On a GPU: the memory with the work on it. Memory of another library is complete after its stream's work.
    [[nodiscard]] std::shared_ptr<Buffer> ordered_buffer() const;
};

/// A plane of a frame, as Python sees it.
struct PlaneArray : ArrayView {};

/// Element types that numpy does not have: bfloat16, and an 8-bit float.
inline constexpr const char* kBfloat16 = "bfloat16";
inline constexpr const char* kFloat8 = "|f1";

[[nodiscard]] Extents contiguous_extents(const Extents& shape, std::int64_t itemsize);

[[nodiscard]] const char* typestr_of(DType dtype) noexcept;
/// Raises TypeError for elements that hold Python objects. A struct has numpy's text of its fields as its typestr.
[[nodiscard]] std::string typestr_of(const py::dtype& dtype);
[[nodiscard]] py::dtype dtype_of(const std::string& typestr);
[[nodiscard]] bool is_struct(const std::string& typestr) noexcept;
/// The dtype of an array's elements: uint8 for 8-bit floats. Raises ImportError for bfloat16 without ml_dtypes.
[[nodiscard]] py::dtype numpy_dtype(const ArrayView& array);
/// The name of an array's element type for messages: "float32", "complex64 ('<c8')".
[[nodiscard]] std::string dtype_text(const ArrayView& array);

/// A numpy array over the same memory, which `base` keeps. Elements that numpy lacks are shown as unsigned integers.
[[nodiscard]] py::array view_as_numpy(const ArrayView& array, const py::object& base);

}  // namespace tricodec::python
