// SPDX-License-Identifier: Apache-2.0
/// What a file and its streams hold: MediaInfo, StreamInfo, ColorDescription, probe().
#include <pybind11/stl.h>

#include <sstream>
#include <string>

#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "media_io.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/color.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

constexpr auto kColorNames = "matrix primaries transfer range chroma_location";

/// A value of an attribute as JSON has it: fractions as "30000/1001", like ffprobe's, and no fraction of 0.
py::object json_value(const py::object& value) {
    if (py::isinstance<ColorDescription>(value)) return value.attr("to_dict")();
    if (PyLong_Check(value.ptr()) != 0 || !has_attribute(value, "numerator")) return value;
    if (value.equal(py::int_(0))) return py::none();
    return py::str("{}/{}").format(value.attr("numerator"), value.attr("denominator"));
}

/// The attributes of an object with these names, which spaces separate.
py::dict attributes_of(const py::object& self, const std::string& names) {
    py::dict result;
    for (const py::handle name : py::str(names).attr("split")()) result[name] = json_value(self.attr(name));
    return result;
}

py::object pixel_format_of(const StreamInfo& stream) {
    if (stream.pixel_format == PixelFormat::unknown) return py::none();
    return py::cast(to_string(stream.pixel_format));
}

py::object mastering_display_of(const StreamInfo& stream) {
    if (!stream.mastering_display) return py::none();
    const auto& display = *stream.mastering_display;
    using namespace py::literals;
    return py::dict("red"_a = display.red, "green"_a = display.green, "blue"_a = display.blue,
                    "white"_a = display.white, "min_luminance"_a = display.min_luminance,
                    "max_luminance"_a = display.max_luminance);
}

py::object content_light_of(const StreamInfo& stream) {
    if (!stream.content_light) return py::none();
    using namespace py::literals;
    return py::dict("max_cll"_a = stream.content_light->max_cll, "max_fall"_a = stream.content_light->max_fall);
}

py::dict stream_dict(const py::object& self) {
    std::string names =
        "index kind codec codec_name profile level time_base start_pts duration duration_seconds num_frames bit_rate "
        "language ";
    const auto kind = self.cast<const StreamInfo&>().kind;
    if (kind == StreamKind::video) {
        names +=
            "width height pixel_format pixel_format_name average_frame_rate real_frame_rate sample_aspect_ratio color "
            "rotation mirrored interlaced mastering_display content_light attached_picture";
    } else if (kind == StreamKind::audio) {
        names += "sample_rate num_channels channel_layout sample_format";
    }
    return attributes_of(self, names);
}

py::dict media_dict(const py::object& self) {
    auto result = attributes_of(self, "name format_name duration_seconds start_seconds bit_rate size_bytes elementary");
    py::list streams;
    for (const py::handle stream : self.attr("streams")) streams.append(stream.attr("to_dict")());
    result["streams"] = streams;
    return result;
}

/// A name of a file as Python has it: bytes that are not UTF-8 as surrogates, so that open() finds the file.
py::str path_text(const std::string& name) {
    PyObject* decoded = PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    if (decoded == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(decoded);
}

py::object stream_or_none(const MediaInfo& info, int index) {
    return index < 0 ? py::none() : py::cast(info.streams[static_cast<std::size_t>(index)]);
}

std::string describe(const StreamInfo& stream) {
    std::ostringstream text;
    text << "<tricodec.video.StreamInfo " << stream.index << ": " << to_string(stream.kind) << " " << stream.codec_name;
    if (stream.kind == StreamKind::video) {
        text << " " << stream.pixel_format_name << " " << stream.width << "x" << stream.height;
        if (stream.average_frame_rate.num > 0) text << ", " << stream.average_frame_rate.to_double() << " fps";
        if (stream.orientation.rotation_degrees != 0) text << ", rotated " << stream.orientation.rotation_degrees;
        if (stream.attached_picture) text << ", attached picture";
    } else if (stream.kind == StreamKind::audio) {
        text << " " << stream.sample_rate << " Hz, " << stream.num_channels << " channels";
        if (!stream.channel_layout.empty()) text << " (" << stream.channel_layout << ")";
    }
    text << ">";
    return text.str();
}

std::string describe(const MediaInfo& info) {
    std::ostringstream text;
    text << "<tricodec.video.MediaInfo '" << info.name << "': " << info.format_name << ", " << info.duration_seconds
         << " s, " << info.streams.size() << (info.streams.size() == 1 ? " stream>" : " streams>");
    return text.str();
}

void bind_stream_info(py::module_& module) {
    py::class_<StreamInfo, std::shared_ptr<StreamInfo>> cls(
        module, "StreamInfo", "What the container and the codec's headers say about one stream. Read-only.");
    publish(cls, "tricodec.video");
    def_picture_facts(cls);
    cls.def_readonly("index", &StreamInfo::index, "Number of the stream in the container.")
        .def_property_readonly("kind", field<word_of>(&StreamInfo::kind),
                               "\"video\", \"audio\", \"subtitle\", \"data\", \"attachment\" or \"other\".")
        .def_property_readonly(
            "codec", field<word_of>(&StreamInfo::codec),
            "\"h264\", \"hevc\", \"av1\", \"vp9\", ...; \"other\" for codecs without a name of their own.")
        .def_readonly("codec_name", &StreamInfo::codec_name, "FFmpeg's name of the codec.")
        .def_readonly("profile", &StreamInfo::profile, "\"High\", \"Main 10\", ... or \"\".")
        .def_readonly("level", &StreamInfo::level, "The codec's own number of its level; -1 unknown.")
        .def_property_readonly("start_pts", field<to_timestamp>(&StreamInfo::start_pts),
                               "First time stamp, in time_base units, or None.")
        .def_property_readonly("duration", field<to_timestamp>(&StreamInfo::duration), "In time_base units, or None.")
        .def_property_readonly("duration_seconds", &StreamInfo::duration_seconds, "In seconds; 0 unknown.")
        .def_readonly("num_frames", &StreamInfo::num_frames,
                      "As the container states it, which may be wrong; 0 unknown. len(FrameReader) counts them.")
        .def_readonly("bit_rate", &StreamInfo::bit_rate, "Bits per second; 0 unknown.")
        .def_property_readonly("pixel_format", pixel_format_of,
                               "FFmpeg's name of the samples' layout, or None if frames cannot have it.")
        .def_readonly("pixel_format_name", &StreamInfo::pixel_format_name, "FFmpeg's name, whatever it is.")
        .def_property_readonly("average_frame_rate", field<to_positive_fraction>(&StreamInfo::average_frame_rate),
                               "Frames per second, a Fraction, or None.")
        .def_property_readonly("real_frame_rate", field<to_positive_fraction>(&StreamInfo::real_frame_rate),
                               "Lowest rate that represents every time stamp, a Fraction, or None.")
        .def_property_readonly(
            "mastering_display", mastering_display_of,
            "The display that HDR was graded on: chromaticities (x, y) of \"red\", \"green\", "
            "\"blue\" and \"white\", \"min_luminance\" and \"max_luminance\" in cd/m2; None unknown.")
        .def_property_readonly("content_light", content_light_of,
                               "\"max_cll\" and \"max_fall\" of HDR in cd/m2; None unknown.")
        .def_readonly("attached_picture", &StreamInfo::attached_picture, "True for a cover image, which is no video.")
        .def_readonly("sample_rate", &StreamInfo::sample_rate, "Of audio, in Hz.")
        .def_readonly("num_channels", &StreamInfo::num_channels, "Of audio.")
        .def_readonly("channel_layout", &StreamInfo::channel_layout,
                      "Of audio, FFmpeg's name: \"mono\", \"stereo\", \"5.1\", ...; \"\" where none is stated.")
        .def_readonly("sample_format", &StreamInfo::sample_format,
                      "Of audio, FFmpeg's name of what its decoder gives: \"fltp\", \"s16\", ...; \"\" unknown.")
        .def_readonly("language", &StreamInfo::language, "ISO 639 code, or \"\".")
        .def("to_dict", stream_dict,
             "The attributes as a dict that json can write: fractions as \"num/den\", unknown values as None.")
        .def("__repr__", py::overload_cast<const StreamInfo&>(&describe));
}

}  // namespace

void bind_color(py::module_& module) {
    py::class_<ColorDescription> cls(module, "ColorDescription",
                                     "The colors that the samples mean, by FFmpeg's names of ITU-T H.273; "
                                     "\"unspecified\" if the stream states none.");
    publish(cls, "tricodec.video");
    cls.def_property_readonly("matrix", field<word_of>(&ColorDescription::matrix),
                              "YCbCr matrix: \"bt709\", \"smpte170m\" (BT.601), \"bt2020nc\", \"rgb\", ...")
        .def_property_readonly("primaries", field<word_of>(&ColorDescription::primaries),
                               "Chromaticities of the primaries.")
        .def_property_readonly("transfer", field<word_of>(&ColorDescription::transfer), "Transfer characteristic.")
        .def_property_readonly("range", field<word_of>(&ColorDescription::range),
                               "\"limited\", \"full\" or \"unspecified\".")
        .def_property_readonly("chroma_location", field<word_of>(&ColorDescription::chroma_location),
                               "Where a chroma sample sits: \"left\", \"center\", \"topleft\", ...")
        .def(
            "to_dict", [](const py::object& self) { return attributes_of(self, kColorNames); },
            "The attributes as a dict of str.")
        .def(
            "__eq__",
            [](const ColorDescription& self, const py::object& other) -> py::object {
                if (!py::isinstance<ColorDescription>(other))
                    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                return py::bool_(self == other.cast<ColorDescription>());
            },
            py::arg("other"))
        .def("__hash__",
             [](const py::object& self) { return py::hash(py::tuple(self.attr("to_dict")().attr("values")())); })
        .def("__repr__", [](const py::object& self) {
            py::list fields;
            for (const auto& [name, value] : attributes_of(self, kColorNames))
                fields.append(py::str("{}={!r}").format(name, value));
            return py::str("ColorDescription({})").format(py::str(", ").attr("join")(fields));
        });
}

void bind_media(py::module_& module) {
    bind_stream_info(module);
    py::class_<MediaInfo, std::shared_ptr<MediaInfo>> cls(module, "MediaInfo", "What a file holds. Read-only.");
    publish(cls, "tricodec.video");
    cls.def_property_readonly("name", field<path_text>(&MediaInfo::name), "Name of the source.")
        .def_readonly("format_name", &MediaInfo::format_name, "FFmpeg's name of the container.")
        .def_readonly("duration_seconds", &MediaInfo::duration_seconds, "0 unknown.")
        .def_readonly("start_seconds", &MediaInfo::start_seconds, "Time of the first time stamp.")
        .def_readonly("bit_rate", &MediaInfo::bit_rate, "Bits per second; 0 unknown.")
        .def_readonly("size_bytes", &MediaInfo::size_bytes, "Of the source; -1 unknown.")
        .def_readonly("elementary", &MediaInfo::elementary, "True for a bare codec stream without a container.")
        .def_property_readonly(
            "streams",
            [](const MediaInfo& self) {
                py::tuple result(self.streams.size());
                for (std::size_t i = 0; i < self.streams.size(); ++i) result[i] = py::cast(self.streams[i]);
                return result;
            },
            "All streams, a tuple of StreamInfo.")
        .def_property_readonly(
            "video", [](const MediaInfo& self) { return stream_or_none(self, self.best_video); },
            "The video stream that a FrameReader opens by default, or None.")
        .def_property_readonly(
            "audio", [](const MediaInfo& self) { return stream_or_none(self, self.best_audio); },
            "The audio stream that an AudioReader opens by default, or None.")
        .def("to_dict", media_dict,
             "The attributes as a dict that json can write: fractions as \"num/den\", unknown values as None.")
        .def(
            "_repr_html_",
            [](const py::object& self) {
                return py::module_::import("tricodec.show.media").attr("html_of_info")(self);
            },
            "A table with a row for each stream.")
        .def("__repr__", [](const MediaInfo& self) { return to_text(describe(self)); });

    module.def(
        "probe",
        [](const py::object& source) {
            const MediaSource opened = to_media_source(source);
            Unlocked unlocked;
            return std::make_shared<MediaInfo>(probe(opened));
        },
        py::arg("source"),
        R"(Describe a file from its headers, without decoding a frame.

    >>> video = tricodec.probe(tricodec.sample_video()).video
    >>> video.width, video.height, video.num_frames, video.average_frame_rate
    (1280, 720, 132, Fraction(25, 1))

Args:
    source: a path, the bytes of a file, or an object with ``read(n)`` and, if it can seek, ``seek(offset, whence)``.
Returns:
    MediaInfo.
Raises:
    MediaNotFoundError: if there is no such file.
    RefusedError: for URLs and for containers that open other files.
    CorruptDataError: if it is not a supported media file.
Thread safety: safe.)");
}

}  // namespace tricodec::python
