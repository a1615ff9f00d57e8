// SPDX-License-Identifier: Apache-2.0
#include "video/frame_reader.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <tuple>

#include "arrays/cuda_streams.h"
#include "arrays/export.h"
#include "arrays/out_array.h"
#include "convert.h"
#include "gil.h"
#include "media_io.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/text.h"
#include "video/options.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

std::vector<std::int64_t> shape_of(const Frame& geometry, const Transform& transform) {
    return transform.output_shape(geometry.width, geometry.height, geometry.orientation);
}

/// One array, or a list or tuple of them, checked.
void take_outs(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape, BatchRequest& request) {
    if (py::isinstance<py::list>(out) || py::isinstance<py::tuple>(out)) {
        for (const py::handle each : out) request.outs.push_back(py::reinterpret_borrow<py::object>(each));
    } else {
        request.outs.push_back(out);
    }
    if (request.outs.empty()) throw py::value_error("out is empty; pass arrays to use in turn, or None");
    for (std::size_t i = 0; i < request.outs.size(); ++i) {
        const bool there = to_out_array(request.outs[i], dtype, shape, request.made_on, request.stream).on_gpu();
        if (i > 0 && there != request.outs_on_gpu) {
            throw py::value_error("some arrays of out are on a GPU and some on the host; pass them in one place");
        }
        request.outs_on_gpu = there;
    }
}

/// An output of the caller's. `fewer`: a damaged video may fill its first places only.
FrameReader::Place place_at(TensorView out, bool fewer) {
    return [out = std::move(out), fewer](const std::vector<std::int64_t>& shape) {
        TRICODEC_EXPECT(shape[0] == out.shape[0] || fewer, out_of_range,
                        "the video is damaged: " + std::to_string(shape[0]) +
                            " of the frames asked for can be decoded, and out has room for " +
                            std::to_string(out.shape[0]) + "; pass an out of " + std::to_string(shape[0]));
        TRICODEC_EXPECT(shape[0] <= out.shape[0], corrupt_data,
                        "the video is damaged: decoding gives " + std::to_string(shape[0]) +
                            " of the frames asked for, and its packets promise " + std::to_string(out.shape[0]));
        auto view = out;
        view.shape[0] = shape[0];
        return view;
    };
}

std::shared_ptr<const FrameIndex> read_index(std::span<const std::byte> bytes) {
    try {
        return frame_index_of(bytes);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_data) throw;
        throw py::value_error("the bytes of index cannot be used: " + std::string(error.what()) +
                              "; pass those that index_bytes() of this version gives");
    }
}

}  // namespace

py::array_t<std::int64_t> PyFrameReader::gops() {
    const auto gops = call(&FrameReader::gops);
    py::array_t<std::int64_t> rows({static_cast<py::ssize_t>(gops.size()), py::ssize_t{5}});
    auto* place = rows.mutable_data();
    for (const auto& gop : gops) {
        for (const auto value : {gop.first_frame, gop.num_frames, gop.offset, gop.size_bytes, std::int64_t{gop.open}})
            *place++ = value;
    }
    return rows;
}

py::bytes PyFrameReader::index_bytes() {
    return to_bytes(call([](FrameReader& reader) { return tricodec::to_bytes(*reader.frame_index()); }));
}

py::bytes PyFrameReader::source_checksum() {
    return to_bytes(call([](FrameReader& reader) { return tricodec::source_checksum(*reader.frame_index()); }));
}

PyFrameReader::PyFrameReader(std::unique_ptr<FrameReader> reader, std::optional<StreamView> stream)
    : stream_of_results_(stream),
      info_(std::make_shared<MediaInfo>(reader->info())),
      stream_(std::make_shared<StreamInfo>(reader->stream())),
      engine_(reader->engine()),
      device_(reader->device()),
      state_(std::make_shared<ReaderState>(std::move(reader))) {}

std::unique_ptr<PyFrameReader> PyFrameReader::open(const py::object& source, const DeviceWord& device, int stream_index,
                                                   int num_workers, bool ignore_edit_list, const py::object& index,
                                                   const py::object& context, const py::object& stream,
                                                   bool block_statistics) {
    const MediaSource opened = to_media_source(source);
    std::filesystem::path index_path;
    std::shared_ptr<const FrameIndex> known_index;
    py::object kept = index;  // for pickle
    if (PyObject_CheckBuffer(index.ptr()) != 0) {
        const auto borrowed = borrow_bytes(index);
        known_index = read_index(borrowed.bytes);
        kept = to_bytes(borrowed.bytes);
    } else if (!index.is_none()) {
        index_path = to_path(index);
    }
    const bool is_container = index_path == "container";
    const bool is_word = is_container || index_path == "packets";
    const FrameReaderOptions options{.device = device,
                                     .stream_index = stream_index,
                                     .num_workers = num_workers,
                                     .ignore_edit_list = ignore_edit_list,
                                     .index = is_word ? std::filesystem::path() : index_path,
                                     .index_origin = is_container ? IndexOrigin::container
                                                     : is_word    ? IndexOrigin::packets
                                                                  : IndexOrigin::automatic,
                                     .context = to_context(context),
                                     .known_index = known_index,
                                     .block_statistics = block_statistics};
    const auto on = to_stream(stream);
    using namespace py::literals;
    const py::dict options_of_reader("device"_a = device.text, "stream_index"_a = stream_index,
                                     "num_workers"_a = num_workers, "ignore_edit_list"_a = ignore_edit_list,
                                     "index"_a = kept, "context"_a = context, "stream"_a = stream,
                                     "block_statistics"_a = block_statistics);
    std::unique_ptr<FrameReader> reader;
    {
        Unlocked unlocked;
        reader = FrameReader::open(opened, options);
    }
    auto made = std::make_unique<PyFrameReader>(std::move(reader), on);
    made->opened_with_ = py::make_tuple(source, options_of_reader);
    return made;
}

Frame PyFrameReader::frame(std::int64_t index) {
    return call([&](FrameReader& reader) { return complete_on(reader.frame(index), stream_of_results_); });
}

std::vector<Frame> PyFrameReader::frames(const py::object& indices) {
    return frames_of(to_frame_numbers(indices));
}

std::vector<Frame> PyFrameReader::frames_of(const FrameRequest& request) {
    return call([&](FrameReader& reader) {
        auto frames = reader.frames(request);
        for (Frame& frame : frames) frame = complete_on(std::move(frame), stream_of_results_);
        return frames;
    });
}

py::object PyFrameReader::item(const py::object& index) {
    if (is_index(index)) return py::cast(frame(to_index(index)));
    return py::cast(frames(index));
}

Frame PyFrameReader::at(double seconds) {
    const auto shown = [seconds](FrameReader& reader) { return std::vector{reader.index_at(seconds)}; };
    return frames_of(FrameRequest::Numbers(shown)).front();
}

py::tuple PyFrameReader::time_span(const py::object& indices) {
    const auto request = to_frame_numbers(indices);
    const auto span = call([&](FrameReader& reader) { return reader.time_span(request.of(reader).numbers); });
    return py::make_tuple(span.begin_seconds, span.end_seconds);
}

std::vector<std::int64_t> PyFrameReader::select(const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    expect_none_left("select", left);
    return call([&](FrameReader& reader) { return reader.select(selection); });
}

py::tuple PyFrameReader::selected(const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    expect_none_left("select", left);
    return to_selected_arrays(call([&](FrameReader& reader) { return reader.selected(selection); }));
}

std::unique_ptr<PyFrameIterator> PyFrameReader::iterate(const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    expect_none_left("iterate", left);
    return std::make_unique<PyFrameIterator>(state_, selection, stream_of_results_);
}

py::object PyFrameReader::batch(const py::object& indices, const py::object& transform, const py::object& out,
                                const py::object& stream, bool pinned, const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    if (!indices.is_none() && selection != FrameSelection{}) {
        throw py::type_error("batch() got indices and other options that select frames; leave one of them out");
    }
    const FrameRequest request = indices.is_none() ? FrameRequest(selection) : to_frame_numbers(indices);
    if (py::isinstance<SwscaleRgb>(transform)) {
        if (!left.empty() || !out.is_none() || !stream.is_none() || pinned) {
            throw py::type_error("batch() takes no out, stream, pinned or options beside a SwscaleRgb; leave them out");
        }
        return rgb_batch(request, transform.cast<const SwscaleRgb&>());
    }
    return read_array(request, *to_transform("batch", transform, left), out, stream, pinned).array;
}

py::tuple PyFrameReader::read(const py::object& transform, const py::object& out, bool fewer, bool pinned,
                              std::int64_t first, std::int64_t count, const py::kwargs& keywords) {
    py::dict left = keywords;
    const FrameRequest request(take_selection(left), first, count);
    auto found = read_array(request, *to_transform("batch", transform, left), out, py::none(), pinned, fewer);
    return py::make_tuple(std::move(found.array)) + to_selected_arrays(found.frames);
}

PyFrameReader::ReadArray PyFrameReader::read_array(const FrameRequest& request, const Transform& transform,
                                                   const py::object& out, const py::object& stream, bool pinned,
                                                   bool fewer) {
    const DType dtype = transform.options().dtype;
    const auto on = stream_for(stream);
    if (out.is_none() && on_gpu() && !pinned) {
        auto batch = call([&](FrameReader& reader) {
            auto read = reader.batch(request, transform);
            if (on && read.tensor.buffer) read.tensor.buffer->lend_to(*on);
            return read;
        });
        return {to_array(std::move(batch.tensor)), std::move(batch.frames)};
    }
    if (out.is_none()) {
        static_cast<void>(to_numpy_dtype(dtype));  // raises before the work is done, not after
        Tensor tensor;
        auto frames = call([&](FrameReader& reader) {
            const auto place = [&](const std::vector<std::int64_t>& shape) {
                tensor = empty_on_host(shape, dtype, device_, pinned);
                return tensor.view;
            };
            return reader.read_into({{request, transform, place}});
        });
        return {to_numpy(std::move(tensor)), std::move(frames.front())};
    }
    const auto asked = call([&](FrameReader& reader) { return request.of(reader).numbers; });
    auto shape = frame_shape(transform, asked.empty() ? 0 : asked.front());
    shape.insert(shape.begin(), std::ssize(asked));
    const ArrayView to = to_out_array(out, dtype, shape, device_, on);
    auto frames = call([&](FrameReader& reader) {
        auto read = reader.read_into({{request, transform, place_at(to.tensor_view(), fewer)}},
                                     to.on_gpu() ? std::optional(to.stream) : std::nullopt);
        if (to.on_gpu() && !on) wait_for(to.stream, to.device);
        return std::move(read.front());
    });
    return {out, std::move(frames)};
}

py::tuple PyFrameReader::read_parts(const py::list& selections, const py::object& transform, const py::list& outs) {
    const auto wanted = to_transform("batch", transform, {});
    std::vector<FrameSelection> asked;
    for (const auto& each : selections) {
        py::dict chosen(py::reinterpret_borrow<py::dict>(each));
        asked.push_back(take_selection(chosen));
    }
    py::list arrays = outs;
    py::list numbers;
    if (outs.empty()) {
        std::vector<std::size_t> counts;
        auto found = read_array(FrameRequest::Numbers([&](FrameReader& reader) {
                                    std::vector<std::int64_t> all;
                                    counts.clear();
                                    for (const auto& selection : asked) {
                                        const auto some = reader.select(selection);
                                        all.insert(all.end(), some.begin(), some.end());
                                        counts.push_back(some.size());
                                    }
                                    return all;
                                }),
                                *wanted, py::none(), py::none(), false);
        arrays = py::list();
        arrays.append(found.array);
        const auto* first = found.frames.numbers.data();
        for (const auto count : counts) {
            numbers.append(py::array_t<std::int64_t>(static_cast<py::ssize_t>(count), first));
            first += count;
        }
        return py::make_tuple(arrays, numbers);
    }
    std::vector<FrameReader::Part> parts;
    std::vector<ArrayView> places;
    for (std::size_t k = 0; k < asked.size(); ++k) {
        const auto some = call([&](FrameReader& reader) { return reader.select(asked[k]); });
        auto shape = frame_shape(*wanted, some.empty() ? 0 : some.front());
        shape.insert(shape.begin(), std::ssize(some));
        places.push_back(to_out_array(outs[k], wanted->options().dtype, shape, device_, std::nullopt));
        parts.push_back({asked[k], *wanted, place_at(places.back().tensor_view(), false)});
    }
    const auto& place = places.front();
    const auto read = call([&](FrameReader& reader) {
        auto frames = reader.read_into(std::move(parts), place.on_gpu() ? std::optional(place.stream) : std::nullopt);
        if (place.on_gpu()) wait_for(place.stream, place.device);
        return frames;
    });
    for (const auto& frames : read) numbers.append(to_selected_arrays(frames)[0]);
    return py::make_tuple(arrays, numbers);
}

std::unique_ptr<PyBatchIterator> PyFrameReader::batches(std::int64_t batch_size, const py::object& transform,
                                                        bool drop_last, const py::object& out, const py::object& stream,
                                                        bool pinned, const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    const auto wanted = to_transform("batches", transform, left);
    const DType dtype = wanted->options().dtype;
    BatchRequest request{batch_size, drop_last ? batch_size : 1, *wanted, stream_for(stream), pinned};
    request.made_on = device_;
    if (out.is_none()) {
        if (!on_gpu() || pinned) static_cast<void>(to_numpy_dtype(dtype));
    } else {
        auto shape = frame_shape(*wanted);
        shape.insert(shape.begin(), batch_size);
        take_outs(out, dtype, shape, request);
    }
    return std::make_unique<PyBatchIterator>(state_, selection, std::move(request));
}

py::tuple PyFrameReader::memory_required(std::optional<std::int64_t> batch_size, const py::object& transform,
                                         const py::kwargs& keywords) {
    py::dict left = keywords;
    const auto selection = take_selection(left);
    const auto wanted = to_transform("memory_required", transform, left);
    const auto need = call([&](FrameReader& reader) { return reader.memory_required(selection, *wanted, batch_size); });
    return py::make_tuple(need.host_bytes, need.device_bytes, need.decoder_bytes, need.codec_bytes);
}

py::tuple PyFrameReader::output_shape(const py::object& transform, const py::kwargs& keywords) {
    return py::tuple(py::cast(frame_shape(*to_transform("output_shape", transform, keywords))));
}

py::array PyFrameReader::pts_seconds() {
    const auto times = call([](FrameReader& reader) { return std::vector<double>(reader.pts_seconds()); });
    return py::array_t<double>(static_cast<py::ssize_t>(times.size()), times.data());
}

double PyFrameReader::fps() {
    return call([](FrameReader& reader) { return average_fps(reader.video_times()); });
}

double PyFrameReader::duration() {
    return call([](FrameReader& reader) { return reader.video_times().duration_seconds(); });
}

std::pair<int, int> PyFrameReader::picture_size() {
    const auto shape = frame_shape(Transform{});
    return {static_cast<int>(shape[1]), static_cast<int>(shape[0])};
}

py::tuple PyFrameReader::shape() {
    const auto frame = frame_shape(Transform{});
    return py::make_tuple(size(), frame[0], frame[1], frame[2]);
}

std::vector<DecodeIssue> PyFrameReader::issues() {
    return call([](FrameReader& reader) { return reader.issues(); });
}

const std::string& PyFrameReader::engine() {
    refresh();
    return engine_;
}

std::string PyFrameReader::device() {
    refresh();
    return device_.to_string();
}

std::string PyFrameReader::describe() {
    std::string text = "<tricodec.FrameReader '" + info_->name + "': ";
    text += closed() ? "closed" : std::to_string(size()) + " frames";
    return text + ", " + stream_->codec_name + " " + stream_->pixel_format_name + " " +
           size_text(stream_->width, stream_->height) + " on " + device() + ">";
}

std::optional<StreamView> PyFrameReader::stream_for(const py::object& stream) const {
    const auto of_call = to_stream(stream);
    return of_call ? of_call : stream_of_results_;
}

void PyFrameReader::refresh() {
    if (!on_gpu() || closed()) return;
    std::tie(engine_, device_) = call([](FrameReader& reader) { return std::pair(reader.engine(), reader.device()); });
}

std::vector<std::int64_t> PyFrameReader::frame_shape(const Transform& transform, std::int64_t index) {
    return shape_of(call(&FrameReader::geometry, index), transform);
}

}  // namespace tricodec::python
