// SPDX-License-Identifier: Apache-2.0
#include "tricodec/container/demuxer.h"

#include <pybind11/stl.h>

#include <cmath>
#include <limits>
#include <string>

#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "guarded.h"
#include "media_io.h"

namespace tricodec::python {
namespace {

class PyDemuxer {
public:
    explicit PyDemuxer(std::unique_ptr<Demuxer> demuxer)
        : info_(std::make_shared<MediaInfo>(demuxer->info())),
          stream_(std::make_shared<StreamInfo>(demuxer->stream())),
          seekable_(demuxer->seekable()),
          demuxer_(std::move(demuxer), "Demuxer") {}

    static std::unique_ptr<PyDemuxer> open(const py::object& source, int stream_index, bool all_streams, bool annexb,
                                           bool ignore_edit_list, const std::string& kind) {
        TRICODEC_EXPECT(kind == "video" || kind == "audio", invalid_argument,
                        "kind is '" + kind + "'; accepted are video and audio");
        const MediaSource opened = to_media_source(source);
        const DemuxerOptions options{.stream_index = stream_index,
                                     .kind = kind == "audio" ? StreamKind::audio : StreamKind::video,
                                     .all_streams = all_streams,
                                     .annexb = annexb,
                                     .ignore_edit_list = ignore_edit_list};
        Unlocked unlocked;
        return std::make_unique<PyDemuxer>(Demuxer::open(opened, options));
    }

    std::optional<Packet> read() { return demuxer_.call(&Demuxer::read); }

    Packet next() {
        auto packet = read();
        if (!packet) throw py::stop_iteration();
        return *std::move(packet);
    }

    void seek(std::int64_t pts) { demuxer_.call(&Demuxer::seek, pts); }

    void seek_seconds(double seconds) {
        TRICODEC_EXPECT(std::isfinite(seconds), invalid_argument,
                        "seconds is " + std::to_string(seconds) + "; it must be a finite number");
        const Rational unit = stream_->time_base;
        TRICODEC_EXPECT(unit.known() && unit.num > 0, unsupported,
                        "the stream has no time base, so it cannot be sought by seconds; read from the start instead");
        // Rounded, not truncated: seconds that were computed from a time stamp must give it back.
        const double pts = std::nearbyint(seconds / unit.to_double());
        constexpr double kLargest = 9.2e18;
        TRICODEC_EXPECT(std::abs(pts) < kLargest, invalid_argument,
                        "seconds is " + std::to_string(seconds) + ", beyond any time stamp");
        seek(static_cast<std::int64_t>(pts));
    }

    void seek_bytes(std::int64_t position) { demuxer_.call(&Demuxer::seek_bytes, position); }

    std::string ends_early() { return demuxer_.call(&Demuxer::ends_early); }

    void close() { demuxer_.close(); }
    [[nodiscard]] const std::shared_ptr<MediaInfo>& info() const { return info_; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    [[nodiscard]] bool seekable() const { return seekable_; }
    [[nodiscard]] bool closed() const { return demuxer_.closed(); }

private:
    std::shared_ptr<MediaInfo> info_;
    std::shared_ptr<StreamInfo> stream_;
    bool seekable_;
    Guarded<Demuxer> demuxer_;
};

}  // namespace

void bind_demuxer(py::module_& module) {
    py::class_<PyDemuxer> cls(
        module, "Demuxer",
        R"(Reads the packets of a container or of a bare elementary stream. Iterating gives them up to the end.

    >>> with tricodec.Demuxer(tricodec.sample_video()) as demuxer:
    ...     sum(packet.key for packet in demuxer)
    5

Thread safety: safe; calls run one after another.)");
    publish(cls);
    cls.def(py::init(&PyDemuxer::open), py::arg("source"), py::kw_only(), py::arg("stream_index") = -1,
            py::arg("all_streams") = false, py::arg("annexb") = false, py::arg("ignore_edit_list") = false,
            py::arg("kind") = "video",
            R"(Open a source and read its headers.

Args:
    source: as in ``probe``. Of an object that cannot seek, only an mp4 with its index at the end is kept,
        within ``max_spool_bytes`` of ``set_limits``; other containers are read as their bytes arrive.
    stream_index: as in ``decode_video``.
    all_streams: read the packets of every stream, in the order of the file.
    annexb: rewrite H.264 and HEVC to Annex B, with parameter sets before each key frame. The packets alone then are a
        decodable elementary stream.
    ignore_edit_list: as in ``decode_video``.
    kind: "video" or "audio": the stream that -1 means. For "audio", files of sound alone (mp3, aac, ...) open too.
Raises:
    Error: the errors of ``probe``.
    ValueError: if the file has no stream stream_index.)")
        .def_property_readonly("info", &PyDemuxer::info, "What the file holds, a MediaInfo.")
        .def_property_readonly("stream", &PyDemuxer::stream, "The stream that read() returns packets of.")
        .def_property_readonly("seekable", &PyDemuxer::seekable, "True if seek() is possible.")
        .def_property_readonly("closed", &PyDemuxer::closed, "True after close().")
        .def("read", &PyDemuxer::read, "The next packet, or None at the end.")
        .def_property_readonly("ends_early", &PyDemuxer::ends_early,
                               "At the end: what shows that the source was cut short or is still being written, or "
                               "\"\". A source that cannot seek shows less.")
        .def("seek", &PyDemuxer::seek, py::arg("pts"),
             R"(Continue at the last key frame at or before a time stamp, or at the first packet.

Args:
    pts: in stream.time_base units.
Raises:
    UnsupportedError: if the source or its format cannot seek.)")
        .def("seek_seconds", &PyDemuxer::seek_seconds, py::arg("seconds"),
             "seek() with a time in seconds. UnsupportedError also if the stream has no time base.")
        .def("seek_bytes", &PyDemuxer::seek_bytes, py::arg("position"),
             "Continue at a byte position that a packet's ``pos`` gave. Raises what seek() raises.")
        .def("close", &PyDemuxer::close, "Close the source. Packets stay valid. A second time does nothing.")
        .def("__iter__", [](const py::object& self) { return self; })
        .def("__next__", &PyDemuxer::next)
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyDemuxer& self, const py::args&) { self.close(); })
        .def("__repr__", [](const PyDemuxer& self) {
            return to_text("<tricodec.Demuxer '" + self.info()->name + "': stream " +
                           std::to_string(self.stream()->index) + ", " + self.stream()->codec_name +
                           (self.closed() ? ", closed>" : ">"));
        });
}

}  // namespace tricodec::python
