// SPDX-License-Identifier: Apache-2.0
/// What each file of the extension adds to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace tricodec::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_log(py::module_& module);
void bind_measurement(py::module_& module);
void bind_media_io(py::module_& module);
void bind_arrays(py::module_& module);
void bind_color(py::module_& module);
void bind_frame(py::module_& module);
void bind_packet(py::module_& module);
void bind_media(py::module_& module);
void bind_demuxer(py::module_& module);
void bind_decoder(py::module_& module);
void bind_muxer(py::module_& module);
void bind_encoder(py::module_& module);
void bind_whole_video(py::module_& module);
void bind_transform(py::module_& module);
void bind_swscale_rgb(py::module_& module);
void bind_options(py::module_& module);
void bind_frame_reader(py::module_& module);
void bind_audio_reader(py::module_& module);
void bind_audio_encoder(py::module_& module);
void bind_stream_reader(py::module_& module);
void bind_stream_writer(py::module_& module);
void bind_ffmpeg_info(py::module_& module);
void bind_compress_memory(py::module_& module);
void bind_compress_array(py::module_& module);
void bind_codec(py::module_& module);

/// Makes the module where users find a class its module, instead of the extension.
template <class Class>
Class& publish(Class& cls, const char* module = "tricodec") {
    cls.attr("__module__") = module;
    return cls;
}

}  // namespace tricodec::python
