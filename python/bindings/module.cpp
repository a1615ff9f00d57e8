// SPDX-License-Identifier: Apache-2.0
/// The extension module tricodec._tricodec: the core's classes under Python's names. The package tricodec re-exports
/// them.
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "tricodec/base/device.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/profiler.h"
#include "tricodec/base/version.h"
#include "tricodec/compress/compress.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/pixel_format.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

constexpr std::pair<const char*, std::int64_t Limits::*> kLimits[] = {
    {"max_width", &Limits::max_width},
    {"max_height", &Limits::max_height},
    {"max_pixels", &Limits::max_pixels},
    {"max_packet_bytes", &Limits::max_packet_bytes},
    {"max_packets", &Limits::max_packets},
    {"max_streams", &Limits::max_streams},
    {"max_output_bytes", &Limits::max_output_bytes},
    {"max_buffered_bytes", &Limits::max_buffered_bytes},
    {"max_device_buffered_bytes", &Limits::max_device_buffered_bytes},
    {"max_spool_memory_bytes", &Limits::max_spool_memory_bytes},
    {"max_spool_bytes", &Limits::max_spool_bytes},
};

py::dict limits_as_dict() {
    const Limits current = limits();
    py::dict result;
    for (const auto& [name, field] : kLimits) result[name] = current.*field;
    return result;
}

void change_limits(const py::kwargs& fields) {
    Limits changed = limits();
    for (const auto& [key, value] : fields) {
        const auto name = key.cast<std::string>();
        std::int64_t Limits::* target = nullptr;
        std::string accepted;
        for (const auto& [known, field] : kLimits) {
            accepted += (accepted.empty() ? "" : ", ") + std::string(known);
            if (name == known) target = field;
        }
        if (target == nullptr) throw py::type_error("'" + name + "' is not a limit; use one of " + accepted);
        changed.*target = to_whole(py::reinterpret_borrow<py::object>(value), "limit " + name);
    }
    set_limits(changed);
}

/// What identifies a GPU and its driver, for plans that were tuned on one.
py::dict gpu_facts(int index) {
    std::vector<GpuInfo> found;
    int version = 0;
    {
        const py::gil_scoped_release released;  // the first call opens the driver
        found = gpus();
        version = cuda_driver_version();
    }
    for (const GpuInfo& gpu : found) {
        if (gpu.index != index) continue;
        py::dict facts;
        facts["gpu"] = gpu.name;
        facts["compute_capability"] = std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor);
        facts["cuda_driver"] = std::to_string(version);
        return facts;
    }
    fail(ErrorCode::device, "there is no GPU " + std::to_string(index) + "; this process sees " +
                                std::to_string(found.size()) + " GPUs, numbered from 0");
}

/// Gives a function, or the functions of a class, the signature that inspect, IPython and pydoc read from a docstring:
/// the first line of pybind11 without its types, which are those of C++.
void show_signatures(py::handle object, const py::object& substitute) {
    if (PyType_Check(object.ptr()) != 0) {
        for (const auto& [_, member] : py::dict(object.attr("__dict__"))) show_signatures(member, substitute);
        return;
    }
    if (py::isinstance<py::staticmethod>(object)) return show_signatures(object.attr("__func__"), substitute);
    PyObject* function = py::detail::get_function(object).ptr();
    if (PyCFunction_Check(function) == 0) return;
    PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    const std::string doc = method->ml_doc == nullptr ? "" : method->ml_doc;
    const std::size_t arrow = doc.find(") -> ");
    if (!doc.starts_with(std::string(method->ml_name) + "(") || doc.find('\n') < arrow) return;
    const std::size_t end = std::min(doc.find('\n', arrow), doc.size() - 1) + 1;
    constexpr auto types = R"(: (?:\[(?:[^][]|\[[^]]*\])*\]|[^][,=])+)";
    const auto plain = substitute("kwargs", "options", substitute(types, "", doc.substr(0, arrow))).cast<std::string>();
    std::free(const_cast<char*>(method->ml_doc));  // NOLINT(cppcoreguidelines-no-malloc): pybind11 frees what it copied
    method->ml_doc = strdup((plain + ")\n--\n" + doc.substr(end)).c_str());
}

py::tuple pixel_formats() {
    py::list names;
    for (const PixelFormatInfo& format : all_pixel_formats()) {
        if (format.format != PixelFormat::unknown) names.append(std::string(format.name));
    }
    return py::tuple(names);
}

}  // namespace
}  // namespace tricodec::python

PYBIND11_MODULE(_tricodec, module) {
    namespace python = tricodec::python;
    module.doc() = "The native part of tricodec; use the package tricodec.";
    module.attr("__version__") = tricodec::version();
    python::bind_errors(module);
    python::bind_log(module);
    python::bind_measurement(module);
    python::bind_media_io(module);
    module.def(
        "build_info",
        [] {
            return tricodec::build_info() + "nvtx: " + (tricodec::has_nvtx() ? "in this build" : "not in this build") +
                   "\nimage_engine: " + tricodec::image_engine() + "\n" + tricodec::compression_libraries();
        },
        R"(Describe the build and the libraries in use, with one "name: value" in each line.

    >>> "libavcodec" in tricodec.build_info()
    True

Thread safety: safe.)");
    module.def("get_limits", &python::limits_as_dict, "The limits of the process as a dict.");
    module.def("set_limits", &python::change_limits, "Replace the limits that are named.");
    module.def("pixel_formats", &python::pixel_formats,
               "FFmpeg's names of the layouts that frames can have, a tuple of str.");
    module.def("gpu_facts", &python::gpu_facts, pybind11::arg("index"),
               "The name, the compute capability and the version of the driver of a GPU, a dict of str.");
    module.def(
        "resolve_device",
        [](const python::DeviceWord& request) {
            const pybind11::gil_scoped_release released;  // the first call opens the driver
            return tricodec::resolve_device(request.text).to_string();
        },
        pybind11::arg("request"),
        R"(The device that a request means on this machine. "auto" is the GPU where there is a usable one; a stream
that it cannot decode goes to the CPU all the same.

Args:
    request: "auto", "auto:N", "cpu", "cuda" or "cuda:N"; TRICODEC_DEVICE replaces "auto" if it is set.
Returns:
    "cpu" or "cuda:N".
Raises:
    ValueError: for any other text.
    DeviceError: if a GPU is named and there is none; the text says why.)");
    python::bind_color(module);
    python::bind_arrays(module);
    python::bind_frame(module);
    python::bind_packet(module);
    python::bind_media(module);
    python::bind_demuxer(module);
    python::bind_decoder(module);
    python::bind_muxer(module);
    python::bind_encoder(module);
    python::bind_whole_video(module);
    python::bind_transform(module);
    python::bind_swscale_rgb(module);
    python::bind_options(module);
    python::bind_frame_reader(module);
    python::bind_audio_reader(module);
    python::bind_audio_encoder(module);
    python::bind_stream_reader(module);
    python::bind_stream_writer(module);
    python::bind_ffmpeg_info(module);
    python::bind_compress_memory(module);
    python::bind_compress_array(module);
    python::bind_codec(module);
    const pybind11::object substitute = pybind11::module_::import("re").attr("sub");
    for (const auto& [_, value] : pybind11::dict(module.attr("__dict__"))) python::show_signatures(value, substitute);
}
