// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <string>

#include "bindings.h"
#include "tricodec/read/frame_reader.h"
#include "video/frame_reader.h"
#include "video/options.h"

namespace tricodec::python {
namespace {

std::string select_doc() {
    return "The frame numbers that a selection means, as a list of int. All calls that read frames take its "
           "options.\n\n" +
           arguments_text(selection_options()) +
           R"(
Raises:
    IndexError: if there are not so many frames, or a time has no frame.
    ValueError: for options that are not accepted or contradict each other.)";
}

void bind_requests(py::class_<PyFrameReader>& cls) {
    cls.def("iterate", &PyFrameReader::iterate,
            R"(Frames one after another, decoded ahead.

Args:
    **options: as in ``select``.
Returns:
    An iterator of Frame.
Raises:
    IndexError, ValueError: as in ``select``.)")
        .def("frames", &PyFrameReader::frames, py::arg("indices"),
             R"(Frames in the order of ``indices``, repeats allowed; memory grows with the number of different frames.

Args:
    indices: a slice, or integers in a list, tuple, range or array.
Returns:
    list of Frame.)")
        .def("select", &PyFrameReader::select, select_doc().c_str())
        .def("batch", &PyFrameReader::batch, py::arg("indices") = py::none(), py::arg("transform") = py::none(),
             py::arg("out") = py::none(), py::kw_only(), py::arg("stream") = py::none(), py::arg("pinned") = false,
             R"(Frames through a Transform into one array.

Args:
    indices: as in ``FrameReader.frames``. None takes the frames that options of ``select`` mean.
    transform: a Transform; or give its options as keywords (size, crop, dtype, layout, mean, std, ...). A SwscaleRgb
        gives FFmpeg's own RGB, always as a new numpy array.
    out: an array for the result, as in ``Transform``. Each frame is written directly to its place. None
        allocates one.
    stream: as in ``Transform``. None is the reader's stream.
    pinned: as in ``Transform``.
    **options: options of ``select`` and of ``Transform``.
Returns:
    ``out`` if it was given, else a numpy array, or a DeviceArray if a GPU decodes: [N, H, W, C], or N and as the
    layout says.
Raises:
    IndexError: past the end.
    ValueError: for options that are not accepted, or an ``out`` of another shape, read-only or on another GPU.
    TypeError: for an ``out`` of another dtype, or an object that is not an array.
    CorruptDataError: if a requested frame cannot be decoded.
    ImportError: for bfloat16 without ``out`` where ml_dtypes is not installed.)")
        .def("batches", &PyFrameReader::batches, py::arg("batch_size"), py::arg("transform") = py::none(),
             py::kw_only(), py::arg("drop_last") = false, py::arg("out") = py::none(), py::arg("stream") = py::none(),
             py::arg("pinned") = false,
             R"(Frames through a Transform, a batch at a time, decoded ahead on all cores while the caller works on the
previous batch.

Args:
    batch_size: frames of a batch, at least 1; the last batch may have fewer.
    transform: as in ``FrameReader.batch``.
    drop_last: leave out a last batch that is not full.
    out: an array [batch_size, ...] for the batches, as in ``Transform``, or a list or tuple of arrays to use in
        turn. A batch is the array, or its first places if the last batch is shorter. It is valid until the array is
        used again. None allocates an array for each batch.
    stream: as in ``FrameReader.batch``.
    pinned: as in ``Transform``.
    **options: options of ``select`` and of ``Transform``.
Returns:
    An iterator of arrays as batch() returns them.
Raises:
    UnsupportedError: while iterating, if a frame has another size than the first one.
    Error, IndexError, ValueError: as in ``batch``.)");
}

void bind_reading(py::class_<PyFrameReader>& cls) {
    cls.def("__len__", &PyFrameReader::size)
        .def("__getitem__", &PyFrameReader::item, py::arg("index"),
             R"(One frame for an integer; a list of frames for a slice, or for a list or array of integers.

Negative numbers count from the end; repeats and any order are allowed.

Raises:
    IndexError: past the end.
    TypeError: for bool and anything that is no integer.)")
        .def("__iter__", [](PyFrameReader& self) { return self.iterate({}); })
        .def("_selected", &PyFrameReader::selected)
        .def("time_span", &PyFrameReader::time_span, py::arg("indices"),
             R"(When frames are shown: (begin, end) in seconds, from the first of them to the end of the last.

The end is the time of the next frame, or how long the last frame of the video is shown.

Args:
    indices: as in ``frames``.
Raises:
    IndexError: if there is no such frame.)")
        .def("index_at", &PyFrameReader::index_at, py::arg("seconds"),
             "Number of the frame on screen at a time in seconds. IndexError before the first and after the last.")
        .def("at", &PyFrameReader::at, py::arg("seconds"),
             "The frame on screen at a time in seconds. IndexError before the first and after the last.")
        .def("_memory_required", &PyFrameReader::memory_required, py::arg("batch_size"),
             py::arg("transform") = py::none())
        .def("_read", &PyFrameReader::read, py::arg("transform"), py::kw_only(), py::arg("out") = py::none(),
             py::arg("fewer") = false, py::arg("pinned") = false, py::arg("first_place") = 0,
             py::arg("num_places") = -1)
        .def("_read_parts", &PyFrameReader::read_parts, py::arg("selections"), py::arg("transform"), py::arg("outs"))
        .def("frame_times", &PyFrameReader::frame_times,
             R"(The time stamp and the duration of each frame, as the packets state them.

Returns:
    (pts, durations) in units of ``stream.time_base``, int64 arrays. Unknown ones are the least int64, and 0.)")
        .def("_close_idle_decoders", &PyFrameReader::close_idle_decoders, py::arg("num_kept"))
        .def("_gops", &PyFrameReader::gops)
        .def("_source_checksum", &PyFrameReader::source_checksum)
        .def("output_shape", &PyFrameReader::output_shape, py::arg("transform") = py::none(),
             R"(Shape of one frame of this video through a Transform: that of batch() without its first axis.

Args:
    transform: a Transform; or give its options as keywords.
Returns:
    (H, W, C), or what the layout says.
Raises:
    ValueError: for options that are not accepted, or a crop outside the picture.)");
}

}  // namespace

void bind_frame_reader(py::module_& module) {
    bind_frame_iterators(module);
    py::class_<ReadStats> stats(module, "ReadStats", "What the reads of a FrameReader have cost so far.");
    publish(stats, "tricodec.video");
    stats.def_readonly("bytes_read", &ReadStats::bytes_read, "Bytes of the source, headers included.")
        .def_readonly("num_packets_decoded", &ReadStats::num_packets_decoded, "Packets sent to decoders, each time.")
        .def_readonly("num_packets_left_out", &ReadStats::num_packets_left_out,
                      "Packets of pictures that were not wanted and that nothing refers to.")
        .def("__repr__", [](const ReadStats& self) {
            return "ReadStats(bytes_read=" + std::to_string(self.bytes_read) +
                   ", num_packets_decoded=" + std::to_string(self.num_packets_decoded) +
                   ", num_packets_left_out=" + std::to_string(self.num_packets_left_out) + ")";
        });
    py::class_<PyFrameReader> cls(module, "FrameReader",
                                  R"(A video as a sequence of frames in presentation order, numbered from 0.

    >>> reader = tricodec.FrameReader(tricodec.sample_video(), device="cpu")
    >>> len(reader), reader[-1].index, [frame.index for frame in reader[10:30:5]]
    (132, 131, [10, 15, 20, 25])
    >>> reader.batch([3, 1, 4], size=(224, 224), dtype="float32", layout="CHW").shape
    (3, 3, 224, 224)

An integer gives a `Frame`; a slice or a list of integers gives a list of frames. Frame i is frame i of the whole
decoded stream in every kind of access.

Thread safety: safe; calls run one after another. One read uses several threads inside.)");
    publish(cls);
    cls.def(py::init(&PyFrameReader::open), py::arg("source"), py::kw_only(), py::arg("device") = "auto",
            py::arg("stream_index") = -1, py::arg("num_workers") = 0, py::arg("ignore_edit_list") = false,
            py::arg("index") = py::none(), py::arg("context") = py::none(), py::arg("stream") = py::none(),
            py::arg("block_statistics") = false,
            R"(Open a source and read its headers; packets are indexed when a call first needs them.

Args:
    source: as in ``decode_video``.
    device: as in ``decode_video``. ``engine`` and the log at level info state the choice and its reason.
    stream_index: as in ``decode_video``.
    num_workers: number of decoders of one read; 0 chooses it from the cores or the GPU's engines, the codec and the
        frame size.
    ignore_edit_list: as in ``decode_video``.
    index: where the numbers of frames come from. "container" is the container's own list, unless a packet contradicts
        it. "packets" reads the headers of all packets. None is "container" for a remote source and from 16 MiB on, else
        "packets". Bytes of ``index_bytes()`` are loaded; an index of a different file is ignored. A path names a file
        that keeps the index: the reader loads it, or builds it and writes the file.
    context: the CUDA context for work on a GPU: a handle, or an object with ``.handle``. It must outlive all objects
        made in it. None is the primary context of the GPU, which torch, CuPy and JAX use.
    stream: a CUDA stream of the caller: a handle, or a stream of torch, CuPy, pycuda or Numba. Work queued there
        after a call sees the complete results of the call.
    block_statistics: as in ``Decoder``.
Raises:
    Error: the errors of ``probe``.
    ValueError: if `index` is not an index, is damaged, or is of another version of tricodec; its file stays unchanged.
    UnsupportedError: if no engine here decodes the codec, or the named GPU does not.
    DeviceError: if the named device cannot be used.)");
    bind_reading(cls);
    bind_requests(cls);
    cls.def(
        "save_index", &PyFrameReader::save_index, py::arg("path"),
        R"(Write the index for a later ``FrameReader(source, index=path)``. The call builds the index if there is none yet.

Raises:
    ValueError: if there is a file at `path` that is not an index; the file stays unchanged.
    MediaIOError: if the file cannot be written.)");
    cls.def(
        "index_bytes", &PyFrameReader::index_bytes,
        R"(What the reader knows of the packets and frames, for a later ``FrameReader(source, index=bytes)``: a container's
table as it is, without the packets that no read has needed. The call builds the index if there is none yet.

Returns:
    bytes.)");
    cls.def_property_readonly("num_frames", &PyFrameReader::size, "Number of frames: ``len(reader)``.")
        .def_property_readonly("fps", &PyFrameReader::fps,
                               "Frames a second on average: ``num_frames / duration``. 0 without frames.")
        .def_property_readonly("duration", &PyFrameReader::duration,
                               "Seconds from the first frame to the end of the last.")
        .def_property_readonly(
            "width", [](PyFrameReader& self) { return self.picture_size().first; },
            "Width of the upright picture in pixels.")
        .def_property_readonly(
            "height", [](PyFrameReader& self) { return self.picture_size().second; },
            "Height of the upright picture in pixels.")
        .def_property_readonly("shape", &PyFrameReader::shape,
                               "(num_frames, height, width, 3): the shape of ``batch()`` without options.");
    cls.def_property_readonly("pts_seconds", &PyFrameReader::pts_seconds,
                              "Presentation times in seconds, float64, one a frame (a new array).")
        .def_property_readonly("key_frames", &PyFrameReader::key_frames,
                               "Numbers of the frames from which decoding can start, a list of int.")
        .def_property_readonly("info", &PyFrameReader::info, "What the file holds, a MediaInfo.")
        .def_property_readonly("stream", &PyFrameReader::stream, "The stream that is read, a StreamInfo.")
        .def_property_readonly("engine", &PyFrameReader::engine,
                               "Name of the decoder, for people to read: \"libavcodec h264\".")
        .def_property_readonly("device", &PyFrameReader::device, "\"cpu\" or \"cuda:N\".")
        .def_property_readonly(
            "issues", &PyFrameReader::issues,
            "Damage met so far, a list of DecodeIssue: one for each packet, at most the first 10,000. If the source "
            "was cut short, the last one reports all missing data.")
        .def_property_readonly("stats", &PyFrameReader::stats,
                               "What the reads have cost so far, a ReadStats: bytes of the source, packets decoded.")
        .def_property_readonly("num_damaged_packets", &PyFrameReader::num_damaged_packets,
                               "Number of damaged packets, with those that ``issues`` has no room for.")
        .def_property_readonly("closed", &PyFrameReader::closed, "True after close().")
        .def_property_readonly("_opened_with", &PyFrameReader::opened_with)
        .def("close", &PyFrameReader::close, "Close the source. Frames stay valid. A second time does nothing.")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyFrameReader& self, const py::args&) { self.close(); })
        .def(
            "show",
            [](const py::object& self, const py::object& indices, const py::object& size, const py::object& columns) {
                return py::module_::import("tricodec.show.pictures").attr("show")(self, indices, size, columns);
            },
            py::arg("indices") = py::none(), py::kw_only(), py::arg("size") = py::none(),
            py::arg("columns") = py::none(),
            R"(Small pictures of frames in rows, as a picture of Pillow, which a notebook shows.

Args:
    indices: frame numbers, or a slice; None takes 16 across the video.
    size: (height, width) of each picture in pixels; None is 144 high with the frame's proportions.
    columns: pictures a row; None makes about as many rows as columns.
Raises:
    IndexError: a number lies outside the video.
    ValueError: there is no frame.
    ImportError: Pillow is not installed.)")
        .def(
            "_repr_html_",
            [](const py::object& self) {
                return py::module_::import("tricodec.show.media").attr("html_of_reader")(self);
            },
            "The stream and how it is read.")
        .def("__reduce__",
             [](const py::object& self) {
                 return py::module_::import("tricodec.video._pickling").attr("reduce_reader")(self);
             })
        .def("__repr__", [](PyFrameReader& self) { return to_text(self.describe()); });
}

}  // namespace tricodec::python
