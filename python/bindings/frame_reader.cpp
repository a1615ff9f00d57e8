// SPDX-License-Identifier: Apache-2.0
#include "tricodec/frame_reader.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "convert.h"
#include "destination.h"
#include "frame_iterators.h"
#include "gil.h"
#include "guarded.h"
#include "indices.h"
#include "interop.h"
#include "results.h"
#include "source.h"
#include "streams.h"
#include "transform.h"
#include "tricodec/gpu.h"

namespace tricodec::python {
namespace {

class PyFrameReader {
    template <class Function>
    auto call(Function&& function) {
        return state_->reader.call(std::forward<Function>(function));
    }

public:
    PyFrameReader(std::unique_ptr<FrameReader> reader, std::optional<StreamView> stream)
        : stream_of_results_(stream),
          info_(std::make_shared<MediaInfo>(reader->info())),
          stream_(std::make_shared<StreamInfo>(reader->stream())),
          engine_(reader->engine()),
          device_(reader->device()),
          state_(std::make_shared<ReaderState>(std::move(reader))) {}

    static std::unique_ptr<PyFrameReader> open(const py::object& source, const std::string& device, int stream_index,
                                               int num_workers, bool ignore_edit_list,
                                               const std::optional<std::filesystem::path>& index,
                                               const py::object& context, const py::object& stream) {
        const MediaSource opened = to_media_source(source);
        const FrameReaderOptions options{device,
                                         stream_index,
                                         num_workers,
                                         ignore_edit_list,
                                         index.value_or(std::filesystem::path()),
                                         to_context(context)};
        const auto on = to_stream(stream);
        Unlocked unlocked;
        return std::make_unique<PyFrameReader>(FrameReader::open(opened, options), on);
    }

    std::int64_t size() {
        return call([](FrameReader& reader) { return reader.num_frames(); });
    }

    Frame frame(std::int64_t index) {
        return call([&](FrameReader& reader) { return lent(reader.frame(index), stream_of_results_); });
    }

    std::vector<Frame> frames(const py::object& indices) {
        const auto numbers = resolve(indices);
        return call([&](FrameReader& reader) {
            auto frames = reader.frames(numbers);
            for (Frame& frame : frames) frame = lent(std::move(frame), stream_of_results_);
            return frames;
        });
    }

    py::object item(const py::object& index) {
        if (is_index(index)) return py::cast(frame(to_index(index)));
        return py::cast(frames(index));
    }

    void save_index(const std::filesystem::path& path) {
        call([&](FrameReader& reader) { reader.save_index(path); });
    }

    std::int64_t index_at(double seconds) {
        return call([&](FrameReader& reader) { return reader.index_at(seconds); });
    }

    Frame at(double seconds) {
        return call(
            [&](FrameReader& reader) { return lent(reader.frame(reader.index_at(seconds)), stream_of_results_); });
    }

    std::vector<std::int64_t> select(std::int64_t start, std::int64_t stride, std::int64_t count) {
        const FrameSelection selection{start, stride, count};
        return call([&](FrameReader& reader) { return reader.select(selection); });
    }

    std::unique_ptr<PyFrameIterator> iterate(std::int64_t start, std::int64_t stride, std::int64_t count) {
        return std::make_unique<PyFrameIterator>(state_, FrameSelection{start, stride, count}, stream_of_results_);
    }

    py::object batch(const py::object& indices, const py::object& transform, const py::object& out,
                     const py::object& stream, bool pinned, const py::kwargs& options) {
        const auto wanted = to_transform(transform, options);
        const DType dtype = wanted->options().dtype;
        const auto on = stream_for(stream);
        const auto numbers = resolve(indices);
        if (out.is_none() && on_gpu() && !pinned) {
            return to_array(call([&](FrameReader& reader) {
                Tensor result = reader.batch(numbers, *wanted);
                if (on && result.buffer) result.buffer->lend_to(*on);
                return result;
            }));
        }
        if (out.is_none()) static_cast<void>(to_numpy_dtype(dtype));  // raises before the work is done, not after
        auto shape = frame_shape(*wanted);
        shape.insert(shape.begin(), static_cast<std::int64_t>(numbers.size()));
        if (out.is_none()) {
            return to_numpy(call([&](FrameReader& reader) {
                Tensor result = empty_on_host(shape, dtype, device_, pinned);
                reader.batch_into(numbers, *wanted, result.view);
                return result;
            }));
        }
        const Destination to = to_destination(out, dtype, shape, device_, on);
        call([&](FrameReader& reader) {
            if (!to.on_gpu()) return reader.batch_into(numbers, *wanted, to.view);
            reader.batch_into(numbers, *wanted, to.view, to.stream);
            if (!on) wait_for(to.stream, to.view.device);
        });
        return out;
    }

    std::unique_ptr<PyBatchIterator> batches(std::int64_t batch_size, const py::object& transform, std::int64_t start,
                                             std::int64_t stride, std::int64_t count, bool drop_last,
                                             const py::object& out, const py::object& stream, bool pinned,
                                             const py::kwargs& options) {
        const auto wanted = to_transform(transform, options);
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
        const FrameSelection selection{start, stride, count};
        return std::make_unique<PyBatchIterator>(state_, selection, std::move(request));
    }

    py::tuple output_shape(const py::object& transform, const py::kwargs& options) {
        return py::tuple(py::cast(frame_shape(*to_transform(transform, options))));
    }

    py::array pts_seconds() {
        const auto times = call([](FrameReader& reader) { return std::vector<double>(reader.pts_seconds()); });
        return py::array_t<double>(static_cast<py::ssize_t>(times.size()), times.data());
    }

    std::vector<std::int64_t> key_frames() {
        return call([](FrameReader& reader) { return reader.key_frames(); });
    }

    std::vector<DecodeIssue> issues() {
        return call([](FrameReader& reader) { return reader.issues(); });
    }

    void close() { state_->close(); }
    [[nodiscard]] bool closed() const { return state_->reader.closed(); }
    [[nodiscard]] const std::shared_ptr<MediaInfo>& info() const { return info_; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    const std::string& engine() {
        refresh();
        return engine_;
    }
    std::string device() {
        refresh();
        return device_.to_string();
    }

    std::string describe() {
        std::string text = "<tricodec.FrameReader '" + info_->name + "': ";
        text += closed() ? "closed" : std::to_string(size()) + " frames";
        return text + ", " + stream_->codec_name + " " + stream_->pixel_format_name + " " +
               std::to_string(stream_->width) + "x" + std::to_string(stream_->height) + " on " + device() + ">";
    }

private:
    [[nodiscard]] bool on_gpu() const noexcept { return device_.kind == Device::Kind::cuda; }
    /// The stream of a call, or else of the reader.
    std::optional<StreamView> stream_for(const py::object& stream) const {
        const auto of_call = to_stream(stream);
        return of_call ? of_call : stream_of_results_;
    }
    /// A GPU that meets what it cannot do gives way to the CPU.
    void refresh() {
        if (!on_gpu() || closed()) return;
        std::tie(engine_, device_) =
            call([](FrameReader& reader) { return std::pair(reader.engine(), reader.device()); });
    }

    /// One array, or a list or tuple of them, checked.
    static void take_outs(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape,
                          BatchRequest& request) {
        if (py::isinstance<py::list>(out) || py::isinstance<py::tuple>(out)) {
            for (const py::handle each : out) request.outs.push_back(py::reinterpret_borrow<py::object>(each));
        } else {
            request.outs.push_back(out);
        }
        if (request.outs.empty()) throw py::value_error("out is empty; pass arrays to use in turn, or None");
        for (std::size_t i = 0; i < request.outs.size(); ++i) {
            const bool there = to_destination(request.outs[i], dtype, shape, request.made_on, request.stream).on_gpu();
            if (i > 0 && there != request.outs_on_gpu) {
                throw py::value_error("some arrays of out are on a GPU and some on the host; pass them in one place");
            }
            request.outs_on_gpu = there;
        }
    }

    std::vector<std::int64_t> resolve(const py::object& indices) {
        return resolve_indices(indices, [this] { return size(); });
    }

    std::vector<std::int64_t> frame_shape(const Transform& transform) {
        const Frame geometry = call([](FrameReader& reader) { return reader.geometry(); });
        return transform.output_shape(geometry.width, geometry.height, geometry.orientation);
    }

    static std::shared_ptr<Transform> to_transform(const py::object& transform, const py::kwargs& options) {
        if (transform.is_none()) return make_transform(options);
        if (!py::isinstance<Transform>(transform)) {
            throw py::type_error("transform must be a tricodec.Transform, not " +
                                 std::string(Py_TYPE(transform.ptr())->tp_name));
        }
        if (!options.empty()) {
            throw py::type_error("pass either a transform or its options, not both; the options were " +
                                 py::str(py::list(options.attr("keys")())).cast<std::string>());
        }
        return transform.cast<std::shared_ptr<Transform>>();
    }

    std::optional<StreamView> stream_of_results_;
    std::shared_ptr<MediaInfo> info_;
    std::shared_ptr<StreamInfo> stream_;
    std::string engine_;
    Device device_;
    std::shared_ptr<ReaderState> state_;
};

void bind_reading(py::class_<PyFrameReader>& cls) {
    cls.def("__len__", &PyFrameReader::size)
        .def("__getitem__", &PyFrameReader::item, py::arg("index"),
             "One frame for an integer; a list of frames for a slice, or for a list or array of integers.\n\n"
             "Negative numbers count from the end; repeats and any order are allowed.\n\n"
             "Raises:\n"
             "    IndexError: past the end.\n"
             "    TypeError: for bool and anything that is no integer.")
        .def("__iter__", [](PyFrameReader& self) { return self.iterate(0, 1, -1); })
        .def("iterate", &PyFrameReader::iterate, py::arg("start") = 0, py::arg("stride") = 1, py::arg("count") = -1,
             "Frames one after another, decoded ahead.\n\n"
             "Args:\n"
             "    start: number of the first frame; negative counts from the end.\n"
             "    stride: every stride-th frame, at least 1.\n"
             "    count: how many at most; -1 = to the end.\n"
             "Returns:\n"
             "    An iterator of Frame.\n"
             "Raises:\n"
             "    IndexError: if start is past the end.\n"
             "    ValueError: for a stride below 1 or a count below -1.")
        .def("frames", &PyFrameReader::frames, py::arg("indices"),
             "Frames in the order asked, repeats allowed; memory grows with the number of different frames.\n\n"
             "Args:\n"
             "    indices: a slice, or integers in a list, tuple, range or array.\n"
             "Returns:\n"
             "    list of Frame.")
        .def("select", &PyFrameReader::select, py::arg("start") = 0, py::arg("stride") = 1, py::arg("count") = -1,
             "The frame numbers that start, stride and count mean, as a list of int; see iterate().\n\n"
             "Raises:\n"
             "    IndexError: if there are not so many frames.")
        .def("index_at", &PyFrameReader::index_at, py::arg("seconds"),
             "Number of the frame on screen at a time: the last one with a time at or before it.\n\n"
             "Raises:\n"
             "    IndexError: before the first frame or after the end of the last.")
        .def("at", &PyFrameReader::at, py::arg("seconds"),
             "The frame on screen at a time.\n\n"
             "Raises:\n"
             "    IndexError: before the first frame or after the end of the last.")
        .def(
            "batch", &PyFrameReader::batch, py::arg("indices"), py::arg("transform") = py::none(),
            py::arg("out") = py::none(), py::kw_only(), py::arg("stream") = py::none(), py::arg("pinned") = false,
            "Frames through a Transform into one array.\n\n"
            "Args:\n"
            "    indices: a slice, or integers in a list, tuple, range or array.\n"
            "    transform: a Transform; or give its options as keywords (size, crop, dtype, layout, mean, std, ...).\n"
            "    out: an array of the result's shape and dtype to write to, as Transform takes it: a numpy array, a "
            "torch\n"
            "        tensor, ..., any strides, on the host or on the reader's GPU; each frame is written straight into "
            "its place.\n"
            "        None allocates one array.\n"
            "    stream: of the caller's, for a result on a GPU, as Transform takes it; None is the reader's. Without "
            "one the\n"
            "        call waits until an ``out`` on a GPU is written.\n"
            "    pinned: allocate the result in page-locked host memory where there is a GPU, wherever frames are "
            "decoded.\n"
            "Returns:\n"
            "    [N, H, W, C], or N and what the layout says: a numpy array, or a DeviceArray where a GPU decodes; "
            "``out`` if that\n"
            "    was given.\n"
            "Raises:\n"
            "    IndexError: past the end.\n"
            "    ValueError: for options that are not accepted, or an ``out`` of another shape, read-only or on "
            "another GPU.\n"
            "    TypeError: for an ``out`` of another dtype, or one that is no array.\n"
            "    CorruptDataError: if a frame that is asked for cannot be decoded.\n"
            "    ImportError: for bfloat16 without ``out`` where ml_dtypes is not installed.")
        .def(
            "batches", &PyFrameReader::batches, py::arg("batch_size"), py::arg("transform") = py::none(),
            py::arg("start") = 0, py::arg("stride") = 1, py::arg("count") = -1, py::arg("drop_last") = false,
            py::kw_only(), py::arg("out") = py::none(), py::arg("stream") = py::none(), py::arg("pinned") = false,
            "Frames through a Transform, a batch at a time, decoded ahead on all cores while the caller works on the\n"
            "last one. Every frame is written straight into its batch.\n\n"
            "Args:\n"
            "    batch_size: frames of a batch, at least 1; the last batch may have fewer.\n"
            "    transform: a Transform; or give its options as keywords (size, crop, dtype, layout, mean, std, ...).\n"
            "    start: number of the first frame; negative counts from the end.\n"
            "    stride: every stride-th frame, at least 1.\n"
            "    count: how many frames at most; -1 = to the end.\n"
            "    drop_last: leave out a last batch that is not full.\n"
            "    out: an array [batch_size, ...] to write batches to, as Transform takes it, or a list or tuple of "
            "them to "
            "use in\n"
            "        turn: a batch is the array, or its first places for a last one that is shorter, and is valid "
            "until "
            "its array's\n"
            "        turn comes again. None gives each batch an array of its own.\n"
            "    stream: of the caller's, as Transform takes it; None is the reader's.\n"
            "    pinned: give batches in page-locked host memory where there is a GPU.\n"
            "Returns:\n"
            "    An iterator of arrays [batch_size, H, W, C], or batch_size and what the layout says; each is the "
            "caller's\n"
            "    own: a numpy array, or a DeviceArray where a GPU decodes.\n"
            "Raises:\n"
            "    IndexError: if start is past the end.\n"
            "    ValueError: for options that are not accepted.\n"
            "    UnsupportedError: while iterating, naming the first frame of another size than the others.\n"
            "    CorruptDataError: while iterating, if a frame cannot be decoded.\n"
            "    ImportError: for bfloat16 where ml_dtypes is not installed; batch() takes an ``out``.")
        .def("output_shape", &PyFrameReader::output_shape, py::arg("transform") = py::none(),
             "Shape of one frame of this video through a Transform: that of batch() without its first axis.\n\n"
             "Args:\n"
             "    transform: a Transform; or give its options as keywords.\n"
             "Returns:\n"
             "    (H, W, C), or what the layout says.\n"
             "Raises:\n"
             "    ValueError: for options that are not accepted, or a crop outside the picture.");
}

}  // namespace

void bind_frame_reader(py::module_& module) {
    bind_frame_iterators(module);
    py::class_<PyFrameReader> cls(
        module, "FrameReader",
        "A video as a sequence of frames in presentation order: ``reader[i]``, ``reader[10:200:5]``, ``reader[[3, 3, "
        "1]]``,\n"
        "``for frame in reader``. Frame i is the i-th frame that decoding the whole stream gives, by whatever path it "
        "is\n"
        "reached.\n\n"
        "Thread safety: calls from several threads take turns; one read uses several threads inside.");
    publish(cls);
    cls.def(
        py::init(&PyFrameReader::open), py::arg("source"), py::kw_only(), py::arg("device") = "auto",
        py::arg("stream_index") = -1, py::arg("num_workers") = 0, py::arg("ignore_edit_list") = false,
        py::arg("index") = py::none(), py::arg("context") = py::none(), py::arg("stream") = py::none(),
        "Open a source and read its headers; packets are indexed when a call first needs them.\n\n"
        "Args:\n"
        "    source: a path (str or os.PathLike), bytes-like, or an object with read(n) and seek(offset, whence).\n"
        "    device: \"auto\", \"auto:N\", \"cpu\", \"cuda\" or \"cuda:N\". \"auto\" takes the GPU if it decodes the "
        "stream "
        "exactly, else the\n"
        "        CPU; ``engine`` and the log at level info say which and why. TRICODEC_DEVICE stands in for \"auto\".\n"
        "    stream_index: -1 is the best video stream.\n"
        "    num_workers: decoders at work on one read; 0 = decide from cores and length.\n"
        "    ignore_edit_list: show what the container's edit list cuts away.\n"
        "    index: path of a file that keeps the index of packets (str or os.PathLike). An index of this source is\n"
        "        read from there; else it is built when first needed and written there, so that opening a long file\n"
        "        again costs nothing. A file that does not fit is replaced; one that cannot be written is logged.\n"
        "    context: on a GPU, the CUDA context to work in: a handle, or an object with .handle; it must outlive the\n"
        "        reader and what it gives. None is the device's primary one, which torch and CuPy use.\n"
        "    stream: of the caller's: what is queued there after a call sees what it returned complete. A handle, or "
        "a\n"
        "        stream of torch, CuPy, pycuda or Numba.\n"
        "Raises:\n"
        "    MediaNotFoundError: if there is no such file.\n"
        "    RefusedError: for URLs and for containers that open other files.\n"
        "    CorruptDataError: if nothing that is known is found in it.\n"
        "    UnsupportedError: if nothing here decodes the codec, or not the GPU that is demanded.\n"
        "    DeviceError: if the device that is demanded cannot be used.");
    bind_reading(cls);
    cls.def("save_index", &PyFrameReader::save_index, py::arg("path"),
            "Write the index, building it if need be, for ``FrameReader(source, index=path)`` later.\n\n"
            "Raises:\n"
            "    MediaIOError: if the file cannot be written.");
    cls.def_property_readonly("pts_seconds", &PyFrameReader::pts_seconds,
                              "Presentation times in seconds, float64, one a frame (a new array).")
        .def_property_readonly("key_frames", &PyFrameReader::key_frames,
                               "Numbers of the frames from which decoding can start, a list of int.")
        .def_property_readonly("info", &PyFrameReader::info, "What the file holds, a MediaInfo.")
        .def_property_readonly("stream", &PyFrameReader::stream, "The stream that is read, a StreamInfo.")
        .def_property_readonly("engine", &PyFrameReader::engine, "Who decodes, for people: \"libavcodec h264\".")
        .def_property_readonly("device", &PyFrameReader::device, "\"cpu\" or \"cuda:N\".")
        .def_property_readonly("issues", &PyFrameReader::issues, "Damage met so far, a list of DecodeIssue.")
        .def_property_readonly("closed", &PyFrameReader::closed, "True after close().")
        .def("close", &PyFrameReader::close, "Close the source. Frames stay valid. A second time does nothing.")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyFrameReader& self, const py::args&) { self.close(); })
        .def("__repr__", &PyFrameReader::describe);
}

}  // namespace tricodec::python
