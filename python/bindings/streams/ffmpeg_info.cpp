// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/ffmpeg_info.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "convert.h"
#include "gil.h"

namespace tricodec::python {
namespace {

py::dict versions() {
    py::dict result;
    for (const auto& [name, version] : ffmpeg::versions()) {
        result[py::str(name)] = py::make_tuple(version[0], version[1], version[2]);
    }
    return result;
}

ffmpeg::Media parse_media(const std::string& media) {
    if (media == "audio") return ffmpeg::Media::audio;
    if (media == "video") return ffmpeg::Media::video;
    throw py::value_error("media must be audio or video, not " + media);
}

}  // namespace

void bind_ffmpeg_info(py::module_& module) {
    module.def("ffmpeg_versions", &versions, "Versions of the FFmpeg libraries in use.");
    module.def("ffmpeg_build_config", &ffmpeg::build_config, "How FFmpeg was configured.");
    module.def("ffmpeg_log_level", &ffmpeg::log_level, "FFmpeg's level.");
    module.def("set_ffmpeg_log_level", &ffmpeg::set_log_level, py::arg("level"), "Set FFmpeg's level.");
    module.def(
        "ffmpeg_codecs",
        [](bool encoders, const std::string& media) {
            const auto kind = parse_media(media);
            return to_dict(encoders ? ffmpeg::encoders(kind) : ffmpeg::decoders(kind));
        },
        py::arg("encoders"), py::arg("media"), "Short and long names.");
    module.def(
        "ffmpeg_formats", [](bool muxers) { return to_dict(muxers ? ffmpeg::muxers() : ffmpeg::demuxers()); },
        py::arg("muxers"), "Short and long names.");
    module.def(
        "ffmpeg_devices",
        [](bool output) { return to_dict(output ? ffmpeg::output_devices() : ffmpeg::input_devices()); },
        py::arg("output"), "Short and long names.");
    module.def(
        "ffmpeg_protocols", [](bool output) { return output ? ffmpeg::output_protocols() : ffmpeg::input_protocols(); },
        py::arg("output"), "Names.");
    module.def(
        "probe_encoder",
        [](const std::string& name, const std::string& device) {
            EncoderProbe probe;
            {
                Unlocked unlocked;
                probe = probe_encoder(name, device);
            }
            return py::make_tuple(probe.works, to_text(probe.reason));
        },
        py::arg("name"), py::arg("device"), "Whether an encoder works, and why not.");
    module.def("clear_cuda_context_cache", &ffmpeg::clear_cuda_context_cache, "Forget the GPU contexts.");
}

}  // namespace tricodec::python
