// SPDX-License-Identifier: Apache-2.0
/// Python's FrameReader and its iterators; frame_reader_bindings.cpp gives them names and docstrings.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert.h"
#include "guarded.h"
#include "tricodec/base/device.h"
#include "tricodec/base/fork.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/swscale/swscale_rgb.h"

namespace tricodec::python {

namespace py = pybind11;

/// The core's reader with its iterators, which borrow it and must end before it.
struct ReaderState {
    explicit ReaderState(std::unique_ptr<FrameReader> object)
        : reader(std::move(object), "FrameReader", [this](FrameReader& lost, bool at_rest) {
              std::construct_at(&slots);  // a thread of the parent's may have been changing it
              return lost.reopen_in_child(at_rest);
          }) {}

    struct Slot {
        ForkMark mark;
        std::unique_ptr<FrameReader::Iterator> frames;
        std::unique_ptr<FrameReader::BatchIterator> batches;

        Slot() = default;
        ~Slot() { end(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

        /// While the interpreter shuts down and in a forked child, the end would wait for threads that never come back.
        void end() {
            if (!interpreter_usable() || mark.in_child()) {
                static_cast<void>(frames.release());
                static_cast<void>(batches.release());
            }
            frames.reset();
            batches.reset();
        }
    };
    Guarded<FrameReader> reader;
    std::vector<std::weak_ptr<Slot>> slots;  // used inside of calls on `reader`

    void close() {
        reader.close([this] {
            for (const auto& weak : slots) {
                if (const auto slot = weak.lock()) slot->end();
            }
            slots.clear();
        });
    }
};

/// An iterator's slot in its reader. In a forked child the iterator continues after its last frame.
class PyIterator {
public:
    /// Makes the core's iterator in the slot.
    using Fill = std::function<void(FrameReader&, const FrameSelection&, ReaderState::Slot&)>;
    PyIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, Fill fill);
    PyIterator(const PyIterator&) = delete;
    PyIterator& operator=(const PyIterator&) = delete;
    ~PyIterator();

    /// What `next` takes from the slot, without the interpreter's lock.
    template <class Next>
    auto call(Next next) {
        return state_->reader.call([&](FrameReader& reader) {
            if (slot_->mark.in_child()) slot_ = make_slot(reader);
            return next(*slot_);
        });
    }
    /// `next` calls it with the number of frames that it took.
    void note_given(std::int64_t num_frames) noexcept { num_given_ += num_frames; }

private:
    [[nodiscard]] std::shared_ptr<ReaderState::Slot> make_slot(FrameReader& reader);

    std::shared_ptr<ReaderState> state_;
    FrameSelection selection_;
    Fill fill_;
    std::int64_t num_given_ = 0;
    std::shared_ptr<ReaderState::Slot> slot_;
};

class PyFrameIterator {
public:
    PyFrameIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection,
                    std::optional<StreamView> stream)
        : stream_(stream),
          iterator_(std::move(state), selection,
                    [](FrameReader& reader, const FrameSelection& rest, ReaderState::Slot& slot) {
                        slot.frames = reader.iterate(rest);
                    }) {}

    Frame next();

private:
    std::optional<StreamView> stream_;
    PyIterator iterator_;
};

/// The arguments of batches().
struct BatchRequest {
    std::int64_t batch_size = 1;
    std::int64_t least = 1;  ///< frames of the smallest batch that is returned
    Transform transform;
    std::optional<StreamView> stream{};
    bool pinned = false;
    std::vector<py::object> outs{};  ///< used in turn; none for new arrays
    bool outs_on_gpu = false;
    Device made_on{};
};

class PyBatchIterator {
public:
    PyBatchIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, BatchRequest request);

    py::object next();

private:
    [[nodiscard]] py::object next_new();
    [[nodiscard]] py::object next_on_gpu();
    [[nodiscard]] py::object next_on_host();
    [[nodiscard]] std::optional<Tensor> take(ReaderState::Slot& slot);
    /// The next array of the caller, or its first places.
    [[nodiscard]] py::object take_out(std::int64_t num_frames);

    BatchRequest request_;
    std::size_t next_out_ = 0;
    PyIterator iterator_;
};

void bind_frame_iterators(py::module_& module);

class PyFrameReader {
    template <class Function, class... Arguments>
    auto call(Function&& function, Arguments&&... arguments) {
        return state_->reader.call(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    }

public:
    PyFrameReader(std::unique_ptr<FrameReader> reader, std::optional<StreamView> stream);
    static std::unique_ptr<PyFrameReader> open(const py::object& source, const DeviceWord& device, int stream_index,
                                               int num_workers, bool ignore_edit_list, const py::object& index,
                                               const py::object& context, const py::object& stream,
                                               bool block_statistics);

    std::int64_t size() { return call(&FrameReader::num_frames); }
    Frame frame(std::int64_t index);
    std::vector<Frame> frames(const py::object& indices);
    py::object item(const py::object& index);
    std::int64_t index_at(double seconds) { return call(&FrameReader::index_at, seconds); }
    py::tuple time_span(const py::object& indices);
    Frame at(double seconds);
    std::vector<std::int64_t> select(const py::kwargs& keywords);
    /// (numbers, times) of a selection.
    py::tuple selected(const py::kwargs& keywords);
    std::unique_ptr<PyFrameIterator> iterate(const py::kwargs& keywords);
    py::object batch(const py::object& indices, const py::object& transform, const py::object& out,
                     const py::object& stream, bool pinned, const py::kwargs& keywords);
    /// The frames of a selection from place `first` on, at most `count`: (array, numbers, times). `fewer`: a damaged
    /// video may fill the first places of `out` only.
    py::tuple read(const py::object& transform, const py::object& out, bool fewer, bool pinned, std::int64_t first,
                   std::int64_t count, const py::kwargs& keywords);
    /// Several selections at once: ([array], [numbers]). Without `outs` one array has the frames of all of them.
    py::tuple read_parts(const py::list& selections, const py::object& transform, const py::list& outs);
    std::unique_ptr<PyBatchIterator> batches(std::int64_t batch_size, const py::object& transform, bool drop_last,
                                             const py::object& out, const py::object& stream, bool pinned,
                                             const py::kwargs& keywords);
    /// (host, device, decoders, codecs) in bytes; `batch_size` None is for batch().
    py::tuple memory_required(std::optional<std::int64_t> batch_size, const py::object& transform,
                              const py::kwargs& keywords);
    py::tuple output_shape(const py::object& transform, const py::kwargs& keywords);

    /// (pts, durations) in units of the time base, int64, one a frame.
    py::tuple frame_times();
    /// int64 [GOPs, 5]: first frame, number of frames, offset, size in bytes, whether it is open.
    py::array_t<std::int64_t> gops();
    py::bytes index_bytes();
    py::bytes source_checksum();
    void close_idle_decoders(std::size_t num_kept) { call(&FrameReader::close_idle_decoders, num_kept); }
    void save_index(const std::filesystem::path& path) { call(&FrameReader::save_index, path); }
    py::array pts_seconds();
    double fps();
    double duration();
    /// (width, height) of the upright picture.
    std::pair<int, int> picture_size();
    py::tuple shape();
    std::vector<std::int64_t> key_frames() { return call(&FrameReader::key_frames); }
    std::vector<DecodeIssue> issues();
    ReadStats stats() { return call(&FrameReader::stats); }
    std::int64_t num_damaged_packets() { return call(&FrameReader::num_damaged_packets); }

    /// (source, options) with which it was opened.
    [[nodiscard]] const py::object& opened_with() const { return opened_with_; }

    void close() { state_->close(); }
    [[nodiscard]] bool closed() const { return state_->reader.closed(); }
    [[nodiscard]] const std::shared_ptr<MediaInfo>& info() const { return info_; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    const std::string& engine();
    std::string device();
    std::string describe();

private:
    struct ReadArray {
        py::object array;
        SelectedFrames frames;
    };
    std::vector<Frame> frames_of(const FrameRequest& request);
    ReadArray read_array(const FrameRequest& request, const Transform& transform, const py::object& out,
                         const py::object& stream, bool pinned, bool fewer = false);
    /// Frames by `convert`, [N, H, W, 3].
    py::array rgb_batch(const FrameRequest& request, const SwscaleRgb& convert);
    [[nodiscard]] bool on_gpu() const noexcept { return device_.kind == Device::Kind::cuda; }
    /// The stream of a call, or else of the reader.
    [[nodiscard]] std::optional<StreamView> stream_for(const py::object& stream) const;
    /// A GPU that meets a stream it cannot decode is replaced by the CPU.
    void refresh();
    std::vector<std::int64_t> frame_shape(const Transform& transform, std::int64_t index = 0);

    std::optional<StreamView> stream_of_results_;
    py::object opened_with_ = py::none();
    std::shared_ptr<MediaInfo> info_;
    std::shared_ptr<StreamInfo> stream_;
    std::string engine_;
    Device device_;
    std::shared_ptr<ReaderState> state_;
};

}  // namespace tricodec::python
