// SPDX-License-Identifier: Apache-2.0
#include "tricodec/container/muxer.h"

#include <pybind11/stl.h>

#include <string>
#include <type_traits>
#include <utility>

#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "guarded.h"
#include "media_io.h"
#include "tricodec/base/fork.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

using Strings = std::optional<std::map<std::string, std::string>>;

class PyMuxer {
    template <class... Arguments>
    auto call(Arguments&&... arguments) {
        try {
            return muxer_.call(std::forward<Arguments>(arguments)...);
        } catch (...) {
            failed_ = true;
            throw;
        }
    }

public:
    PyMuxer(std::unique_ptr<Muxer> muxer, std::string name, std::shared_ptr<std::vector<std::byte>> memory)
        : format_(muxer->format()),
          name_(std::move(name)),
          wants_global_headers_(muxer->wants_global_headers()),
          memory_(std::move(memory)),
          muxer_(std::move(muxer), "Muxer") {}

    static std::unique_ptr<PyMuxer> open(const py::object& target, const std::string& format, bool fast_start,
                                         bool fragmented, const Strings& options, const Strings& metadata) {
        auto opened = to_media_target(target);
        if (opened.memory && format.empty()) {
            throw py::value_error("a muxer to memory needs the container's name: Muxer(None, format=\"mp4\")");
        }
        const MuxerOptions chosen{format, fast_start, fragmented, options.value_or(Strings::value_type()),
                                  metadata.value_or(Strings::value_type())};
        Unlocked unlocked;
        return std::make_unique<PyMuxer>(Muxer::open(opened.target, chosen), opened.target.name(), opened.memory);
    }

    int add_stream(const StreamInfo& stream) {
        const int number = call(&Muxer::add_stream, stream);
        ++num_streams_;
        return number;
    }
    void write(const py::object& data, int stream) {
        const Packet packet = to_packet(data);
        call(&Muxer::write, packet, stream);
    }
    void finish() {
        call(&Muxer::finish);
        finished_ = true;
    }
    ~PyMuxer() {
        if (finished_ || failed_ || memory_ || muxer_.closed() || mark_.in_child()) return;
        warn_dropped("'" + name_ +
                     "' was not written: its Muxer was dropped before finish() or close(); use `with Muxer(...)`");
    }
    PyMuxer(const PyMuxer&) = delete;
    PyMuxer& operator=(const PyMuxer&) = delete;

    void discard() { muxer_.close(); }
    void close() {
        if (muxer_.closed()) return;
        try {
            if (num_streams_ > 0 && !finished_ && !mark_.in_child()) finish();  // the parent finishes its file
        } catch (...) {
            discard();
            throw;
        }
        discard();
    }
    /// close(), unless the block raised.
    void leave(const py::object& error_type) { error_type.is_none() ? close() : discard(); }

    [[nodiscard]] py::bytes getvalue() const {
        if (!memory_) throw py::value_error("the muxer writes to '" + name_ + "', not to memory");
        if (!finished_) throw py::value_error("the file is not finished; call finish() first");
        return to_bytes(*memory_);
    }
    [[nodiscard]] const std::string& format() const { return format_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool wants_global_headers() const { return wants_global_headers_; }
    [[nodiscard]] bool finished() const { return finished_; }

private:
    std::string format_;
    std::string name_;
    bool wants_global_headers_;
    int num_streams_ = 0;
    bool finished_ = false;
    bool failed_ = false;  // a call has raised: the caller knows
    std::shared_ptr<std::vector<std::byte>> memory_;
    ForkMark mark_;
    Guarded<Muxer> muxer_;
};

StreamInfo stream_of_facts(const std::string& codec, int width, int height, const py::object& time_base,
                           const py::object& headers) {
    const auto unit = from_fraction(time_base, "time_base");
    if (headers.is_none()) return describe_stream(parse_codec(codec), width, height, unit);
    return describe_stream(parse_codec(codec), width, height, unit, borrow_bytes(headers).bytes);
}

}  // namespace

void bind_muxer(py::module_& module) {
    module.def("describe_stream", stream_of_facts, py::arg("codec"), py::arg("width"), py::arg("height"),
               py::arg("time_base"), py::arg("headers") = py::none(),
               R"(Describe a video stream for Muxer.add_stream().

Args:
    codec: "h264", "hevc", "av1", ...
    width: pixels.
    height: pixels.
    time_base: seconds per time stamp unit, a Fraction or (numerator, denominator).
    headers: out-of-band headers, bytes-like (Annex B parameter sets, avcC, an AV1 sequence header), or None.
Returns:
    StreamInfo.
Raises:
    ValueError: for a codec that is not known or a size below 1.)");
    py::class_<PyMuxer> cls(module, "Muxer",
                            R"(Writes packets to a container: mp4, mov, mkv, webm, ts, ivf, or a bare stream.

    >>> with tricodec.Demuxer(tricodec.sample_video()) as demuxer, tricodec.Muxer(None, format="mkv") as muxer:
    ...     number = muxer.add_stream(demuxer.stream)
    ...     for packet in demuxer:
    ...         muxer.write(packet, number)
    >>> tricodec.probe(muxer.getvalue()).format_name
    'matroska,webm'

Add all streams first. Then write the packets of each stream in decoding order. A file replaces an existing one when it
is complete. An exception in the block, or a Muxer that is dropped unfinished, leaves the old file unchanged.

Thread safety: safe; calls run one after another.)");
    publish(cls);
    cls.def(py::init(&PyMuxer::open), py::arg("target"), py::kw_only(), py::arg("format") = "",
            py::arg("fast_start") = false, py::arg("fragmented") = false, py::arg("options") = py::none(),
            py::arg("metadata") = py::none(),
            R"(Open a target.

Args:
    target: a path, an object with ``write(bytes)`` and, for most containers, ``seek(offset, whence)``, or None for
        memory: ``getvalue()`` then returns the bytes.
    format: libavformat's name of the container, or "mkv" or "ts"; "" follows the extension of the target.
    fast_start: as in ``encode_video``. For mp4, mov and matroska.
    fragmented: as in ``encode_video``. The target then need not be able to seek.
    options: options of the container's muxer, by FFmpeg's names.
    metadata: tags of the file: "title", "comment", ...
Raises:
    ValueError: for a container or an option that is not known.
    RefusedError: for URLs and for containers that write several files.
    MediaNotFoundError: if the folder does not exist.)")
        .def("add_stream", &PyMuxer::add_stream, py::arg("stream"),
             R"(Add a stream, as Demuxer, Encoder or describe_stream() describes it.

Returns:
    Its number, for write().
Raises:
    UnsupportedError: if the container does not hold the codec.
    ValueError: after the first packet.)")
        .def("write", &PyMuxer::write, py::arg("packet"), py::arg("stream") = 0,
             R"(Write one packet.

Args:
    packet: a Packet; its times are rescaled from its time_base, or from the stream's.
    stream: what add_stream() returned.
Raises:
    ValueError: for time stamps that the container cannot take, or a stream that was not added.
    MediaIOError: if writing fails.)")
        .def("finish", &PyMuxer::finish,
             "Write the index and give the file its name. If writing fails, an existing file stays unchanged.")
        .def("close", &PyMuxer::close, "Finish the file, unless no stream was added, and release the target.")
        .def("discard", &PyMuxer::discard,
             "Release the target without finishing the file; an existing file stays unchanged.")
        .def("getvalue", &PyMuxer::getvalue,
             "The finished file, bytes, of a muxer to memory. ValueError before finish().")
        .def_property_readonly("format", &PyMuxer::format, "libavformat's name of the container.")
        .def_property_readonly("wants_global_headers", &PyMuxer::wants_global_headers,
                               "True if encoders for this container are made with ``global_header=True``.")
        .def_property_readonly("finished", &PyMuxer::finished, "True after finish().")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyMuxer& self, const py::args& error) { self.leave(error[0]); })
        .def("__repr__", [](const PyMuxer& self) {
            return to_text("<tricodec.Muxer '" + self.name() + "': " + self.format() +
                           (self.finished() ? ", finished>" : ">"));
        });
}

}  // namespace tricodec::python
