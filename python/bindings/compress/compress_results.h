// SPDX-License-Identifier: Apache-2.0
/// Results of a codec: memory for them, and those that a GPU still works on.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <vector>

#include "compress_array.h"
#include "tricodec/compress/compress.h"

namespace tricodec::python {

using Arrays = std::vector<ArrayPtr>;

/// Where a codec writes its results. They may outlive the codec.
struct ResultTarget {
    Device device;
    std::shared_ptr<CudaStream> stream;  // null on the CPU

    [[nodiscard]] StreamView view() const noexcept { return stream ? stream->view() : StreamView{}; }
};

/// The memory of the caller for `count` results on `device`; null for each if `outs` is None. An Array that a codec
/// made can grow; other memory keeps its size. Raises ValueError for memory that cannot be written.
[[nodiscard]] Arrays to_outputs(const py::object& outs, std::size_t count, Device device);

/// Raises ValueError if an output shares bytes with a source or with another output: a codec writes outputs while it
/// still reads sources.
void expect_apart(std::span<const ArrayPtr> sources, std::span<const ArrayPtr> outputs);

/// Memory of `size` bytes in `output`. Makes the array if it is null, and a larger one if it may grow. Throws
/// Error(invalid_argument).
[[nodiscard]] std::byte* provide(ArrayPtr& output, std::size_t size, Device device = {}, StreamView stream = {});

/// The sizes that the caller knows; empty for None. Raises ValueError unless there are `count`.
[[nodiscard]] std::vector<std::size_t> to_sizes(const py::object& sizes, std::size_t count);

/// A BatchPlacer for outputs. On a GPU small results share memory: an allocation and an event for each of them would
/// take longer than their compression.
class ResultPlaces {
public:
    ResultPlaces(const ResultTarget& target, Arrays& outputs) : target_(target), outputs_(outputs) {}

    /// For all outputs.
    std::vector<MutableBytes> operator()(std::span<const std::size_t> sizes);

private:
    MutableBytes give(std::size_t index, std::size_t size);

    const ResultTarget& target_;
    Arrays& outputs_;
    std::shared_ptr<Buffer> arena_;
    std::size_t used_ = 0;
};

/// Outputs on a GPU are complete when the work queued on its stream so far is done.
void mark_written(const ResultTarget& target, const Arrays& outputs);

/// `count` arrays that get their bytes from a compression on a GPU; the first that is used finishes it.
[[nodiscard]] Arrays pending_results(const ResultTarget& target, std::size_t count,
                                     std::unique_ptr<compress::PendingCompression> work);
/// The first array that is used finishes the decompression.
void set_pending(const Arrays& outputs, std::unique_ptr<compress::PendingDecompression> work);

}  // namespace tricodec::python
