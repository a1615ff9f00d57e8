// SPDX-License-Identifier: Apache-2.0
/// What Python's FrameReader does; frame_reader.cpp gives it names and docstrings.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frame_iterators.h"
#include "guarded.h"
#include "tricodec/frame_reader.h"
#include "tricodec/stream.h"

namespace tricodec::python {

namespace py = pybind11;

class PyFrameReader {
public:
    PyFrameReader(std::unique_ptr<FrameReader> reader, std::optional<StreamView> stream);
    static std::unique_ptr<PyFrameReader> open(const py::object& source, const std::string& device, int stream_index,
                                               int num_workers, bool ignore_edit_list,
                                               const std::optional<std::filesystem::path>& index,
                                               const py::object& context, const py::object& stream);

    std::int64_t size();
    Frame frame(std::int64_t index);
    std::vector<Frame> frames(const py::object& indices);
    py::object item(const py::object& index);
    std::int64_t index_at(double seconds);
    Frame at(double seconds);
    std::vector<std::int64_t> select(const py::object& start, std::int64_t stride, std::int64_t count);
    std::unique_ptr<PyFrameIterator> iterate(const py::object& start, std::int64_t stride, std::int64_t count);
    py::object batch(const py::object& indices, const py::object& transform, const py::object& out,
                     const py::object& stream, bool pinned, const py::kwargs& options);
    std::unique_ptr<PyBatchIterator> batches(std::int64_t batch_size, const py::object& transform,
                                             const py::object& start, std::int64_t stride, std::int64_t count,
                                             bool drop_last, const py::object& out, const py::object& stream,
                                             bool pinned, const py::kwargs& options);
    py::tuple output_shape(const py::object& transform, const py::kwargs& options);

    void save_index(const std::filesystem::path& path);
    py::array pts_seconds();
    std::vector<std::int64_t> key_frames();
    std::vector<DecodeIssue> issues();
    std::int64_t num_damaged_packets();

    void close() { state_->close(); }
    [[nodiscard]] bool closed() const { return state_->reader.closed(); }
    [[nodiscard]] const std::shared_ptr<MediaInfo>& info() const { return info_; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    const std::string& engine();
    std::string device();
    std::string describe();

private:
    template <class Function>
    auto call(Function&& function) {
        return state_->reader.call(std::forward<Function>(function));
    }
    [[nodiscard]] bool on_gpu() const noexcept { return device_.kind == Device::Kind::cuda; }
    /// The stream of a call, or else of the reader.
    [[nodiscard]] std::optional<StreamView> stream_for(const py::object& stream) const;
    /// A GPU that meets what it cannot do gives way to the CPU.
    void refresh();
    std::vector<std::int64_t> frame_shape(const Transform& transform);

    std::optional<StreamView> stream_of_results_;
    std::shared_ptr<MediaInfo> info_;
    std::shared_ptr<StreamInfo> stream_;
    std::string engine_;
    Device device_;
    std::shared_ptr<ReaderState> state_;
};

}  // namespace tricodec::python
