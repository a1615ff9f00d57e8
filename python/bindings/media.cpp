// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <sstream>
#include <string>

#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "source.h"
#include "tricodec/demuxer.h"
#include "tricodec/stream_info.h"

namespace tricodec::python {
namespace {

/// "30000/1001", as ffprobe writes fractions, or None: JSON has no fractions.
py::object fraction_text(Rational value) {
    if (!value.known() || value.num == 0) return py::none();
    return py::str(std::to_string(value.num) + "/" + std::to_string(value.den));
}

py::object color_dict(const ColorDescription& color) {
    return py::cast(color).attr("to_dict")();
}

py::object pixel_format_of(const StreamInfo& stream) {
    if (stream.pixel_format == PixelFormat::unknown) return py::none();
    return py::str(std::string(to_string(stream.pixel_format)));
}

py::dict to_dict(const StreamInfo& stream) {
    py::dict result;
    result["index"] = stream.index;
    result["kind"] = std::string(to_string(stream.kind));
    result["codec"] = std::string(to_string(stream.codec));
    result["codec_name"] = stream.codec_name;
    result["profile"] = stream.profile;
    result["level"] = stream.level;
    result["time_base"] = fraction_text(stream.time_base);
    result["start_pts"] = to_timestamp(stream.start_pts);
    result["duration"] = to_timestamp(stream.duration);
    result["duration_seconds"] = stream.duration_seconds();
    result["num_frames"] = stream.num_frames;
    result["bit_rate"] = stream.bit_rate;
    result["language"] = stream.language;
    if (stream.kind == StreamKind::video) {
        result["width"] = stream.width;
        result["height"] = stream.height;
        result["pixel_format"] = pixel_format_of(stream);
        result["pixel_format_name"] = stream.pixel_format_name;
        result["average_frame_rate"] = fraction_text(stream.average_frame_rate);
        result["real_frame_rate"] = fraction_text(stream.real_frame_rate);
        result["sample_aspect_ratio"] = fraction_text(stream.sample_aspect_ratio);
        result["color"] = color_dict(stream.color);
        result["rotation"] = stream.orientation.rotation_degrees;
        result["mirrored"] = stream.orientation.mirrored;
        result["interlaced"] = stream.interlaced;
        result["attached_picture"] = stream.attached_picture;
    } else if (stream.kind == StreamKind::audio) {
        result["sample_rate"] = stream.sample_rate;
        result["num_channels"] = stream.num_channels;
    }
    return result;
}

py::dict to_dict(const MediaInfo& info) {
    py::list streams;
    for (const StreamInfo& stream : info.streams) streams.append(to_dict(stream));
    py::dict result;
    result["name"] = info.name;
    result["format_name"] = info.format_name;
    result["duration_seconds"] = info.duration_seconds;
    result["start_seconds"] = info.start_seconds;
    result["bit_rate"] = info.bit_rate;
    result["size_bytes"] = info.size_bytes;
    result["elementary"] = info.elementary;
    result["streams"] = streams;
    return result;
}

/// The video that a reader opens when no stream is named: the first track that is no cover picture, else the cover.
py::object best_video(const MediaInfo& info) {
    const StreamInfo* best = nullptr;
    for (const StreamInfo& stream : info.streams) {
        if (stream.kind != StreamKind::video) continue;
        if (best == nullptr || (best->attached_picture && !stream.attached_picture)) best = &stream;
    }
    return best == nullptr ? py::none() : py::cast(*best);
}

std::string describe(const StreamInfo& stream) {
    std::ostringstream text;
    text << "<tricodec.StreamInfo " << stream.index << ": " << to_string(stream.kind) << " " << stream.codec_name;
    if (stream.kind == StreamKind::video) {
        text << " " << stream.pixel_format_name << " " << stream.width << "x" << stream.height;
        if (stream.average_frame_rate.num > 0) text << ", " << stream.average_frame_rate.to_double() << " fps";
        if (stream.orientation.rotation_degrees != 0) text << ", rotated " << stream.orientation.rotation_degrees;
        if (stream.attached_picture) text << ", attached picture";
    } else if (stream.kind == StreamKind::audio) {
        text << " " << stream.sample_rate << " Hz, " << stream.num_channels << " channels";
    }
    text << ">";
    return text.str();
}

std::string describe(const MediaInfo& info) {
    std::ostringstream text;
    text << "<tricodec.MediaInfo '" << info.name << "': " << info.format_name << ", " << info.duration_seconds << " s, "
         << info.streams.size() << (info.streams.size() == 1 ? " stream>" : " streams>");
    return text.str();
}

void bind_stream_info(py::module_& module) {
    py::class_<StreamInfo, std::shared_ptr<StreamInfo>> cls(
        module, "StreamInfo", "What the container and the codec's headers say of one stream. Read-only.");
    publish(cls);
    cls.def_readonly("index", &StreamInfo::index, "Number of the stream in the container.")
        .def_property_readonly(
            "kind", [](const StreamInfo& self) { return std::string(to_string(self.kind)); },
            "\"video\", \"audio\", \"subtitle\", \"data\", \"attachment\" or \"other\".")
        .def_property_readonly(
            "codec", [](const StreamInfo& self) { return std::string(to_string(self.codec)); },
            "\"h264\", \"hevc\", \"av1\", \"vp9\", ...; \"other\" for codecs without a name of their own here.")
        .def_readonly("codec_name", &StreamInfo::codec_name, "FFmpeg's name of the codec.")
        .def_readonly("profile", &StreamInfo::profile, "\"High\", \"Main 10\", ... or \"\".")
        .def_readonly("level", &StreamInfo::level, "The codec's own number of its level; -1 unknown.")
        .def_property_readonly(
            "time_base", [](const StreamInfo& self) { return to_fraction(self.time_base); },
            "Seconds per time stamp unit, a Fraction, or None.")
        .def_property_readonly(
            "start_pts", [](const StreamInfo& self) { return to_timestamp(self.start_pts); },
            "First time stamp, in time_base units, or None.")
        .def_property_readonly(
            "duration", [](const StreamInfo& self) { return to_timestamp(self.duration); },
            "In time_base units, or None.")
        .def_property_readonly("duration_seconds", &StreamInfo::duration_seconds, "In seconds; 0 unknown.")
        .def_readonly("num_frames", &StreamInfo::num_frames,
                      "As the container states it, which may be wrong; 0 unknown. len(FrameReader) counts them.")
        .def_readonly("bit_rate", &StreamInfo::bit_rate, "Bits per second; 0 unknown.")
        .def_readonly("width", &StreamInfo::width, "Pixels, before rotation.")
        .def_readonly("height", &StreamInfo::height, "Pixels, before rotation.")
        .def_property_readonly(
            "pixel_format", pixel_format_of,
            "FFmpeg's name of the samples' layout, or None if it is not one that frames here can have.")
        .def_readonly("pixel_format_name", &StreamInfo::pixel_format_name, "FFmpeg's name, whatever it is.")
        .def_property_readonly(
            "average_frame_rate", [](const StreamInfo& self) { return to_positive_fraction(self.average_frame_rate); },
            "Frames per second, a Fraction, or None.")
        .def_property_readonly(
            "real_frame_rate", [](const StreamInfo& self) { return to_positive_fraction(self.real_frame_rate); },
            "Lowest rate that represents every time stamp, a Fraction, or None.")
        .def_property_readonly(
            "sample_aspect_ratio",
            [](const StreamInfo& self) { return to_positive_fraction(self.sample_aspect_ratio); },
            "Width of a pixel to its height, a Fraction, or None.")
        .def_readonly("color", &StreamInfo::color, "How samples mean colors.")
        .def_property_readonly(
            "rotation", [](const StreamInfo& self) { return self.orientation.rotation_degrees; },
            "Degrees clockwise that the picture must be turned to stand upright: 0, 90, 180 or 270.")
        .def_property_readonly(
            "mirrored", [](const StreamInfo& self) { return self.orientation.mirrored; },
            "True if the picture must be mirrored left-right before it is rotated.")
        .def_readonly("interlaced", &StreamInfo::interlaced, "True if pictures are pairs of fields.")
        .def_readonly("attached_picture", &StreamInfo::attached_picture, "True for a cover image, which is no video.")
        .def_readonly("sample_rate", &StreamInfo::sample_rate, "Of audio, in Hz.")
        .def_readonly("num_channels", &StreamInfo::num_channels, "Of audio.")
        .def_readonly("language", &StreamInfo::language, "ISO 639 code, or \"\".")
        .def("to_dict", py::overload_cast<const StreamInfo&>(&to_dict),
             "The attributes as a dict that json can write: fractions as \"num/den\", unknown values as None.")
        .def("__repr__", py::overload_cast<const StreamInfo&>(&describe));
}

}  // namespace

void bind_media(py::module_& module) {
    bind_stream_info(module);
    py::class_<MediaInfo, std::shared_ptr<MediaInfo>> cls(module, "MediaInfo", "What a file holds. Read-only.");
    publish(cls);
    cls.def_readonly("name", &MediaInfo::name, "Name of the source.")
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
        .def_property_readonly("video", best_video, "The video that a reader opens when no stream is named, or None.")
        .def("to_dict", py::overload_cast<const MediaInfo&>(&to_dict),
             "The attributes as a dict that json can write: fractions as \"num/den\", unknown values as None.")
        .def("__repr__", py::overload_cast<const MediaInfo&>(&describe));

    module.def(
        "probe",
        [](const py::object& source) {
            const MediaSource opened = to_media_source(source);
            Unlocked unlocked;
            return std::make_shared<MediaInfo>(probe(opened));
        },
        py::arg("source"),
        "Describe a file from its headers.\n\n"
        "Args:\n"
        "    source: a path (str or os.PathLike), bytes-like, or an object with read(n) and, if it can,\n"
        "        seek(offset, whence).\n"
        "Returns:\n"
        "    MediaInfo.\n"
        "Raises:\n"
        "    MediaNotFoundError: if there is no such file.\n"
        "    RefusedError: for URLs and for containers that open other files.\n"
        "    CorruptDataError: if it is no media file that is known.\n"
        "Thread safety: safe.");
}

}  // namespace tricodec::python
