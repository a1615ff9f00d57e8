// SPDX-License-Identifier: Apache-2.0
/// The extension module tricodec._tricodec: the core's classes under Python's names. The package tricodec re-exports
/// them.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "bindings.h"
#include "tricodec/base/device.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/profiler.h"
#include "tricodec/base/text.h"
#include "tricodec/base/version.h"
#include "tricodec/compress/compress.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/pixel_format.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

py::dict limits_as_dict() {
    const Limits current = limits();
    py::dict result;
    for (const auto& [name, field] : kLimitFields) result[name] = current.*field;
    return result;
}

void change_limits(const py::kwargs& fields) {
    Limits changed = limits();
    for (const auto& [key, value] : fields) {
        const auto name = key.cast<std::string>();
        const auto* const limit =
            std::ranges::find_if(kLimitFields, [&](const auto& known) { return known.first == name; });
        if (limit == std::end(kLimitFields)) {
            throw py::type_error("'" + name + "' is not a limit; use one of " +
                                 listed(kLimitFields, [](const auto& known) { return known.first; }));
        }
        changed.*limit->second = to_whole(py::reinterpret_borrow<py::object>(value), "limit " + name);
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

/// A class comes before the functions that take or return it.
constexpr void (*kClasses[])(py::module_&) = {
    bind_color,          bind_arrays,        bind_frame,         bind_packet,       bind_media,
    bind_demuxer,        bind_decoder,       bind_muxer,         bind_encoder,      bind_whole_video,
    bind_transform,      bind_swscale_rgb,   bind_options,       bind_frame_reader, bind_audio_reader,
    bind_audio_encoder,  bind_stream_reader, bind_stream_writer, bind_ffmpeg_info,  bind_compress_memory,
    bind_compress_array, bind_codec};

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
    for (const auto bind : python::kClasses) bind(module);

    const pybind11::object substitute = pybind11::module_::import("re").attr("sub");
    for (const auto& [_, value] : pybind11::dict(module.attr("__dict__"))) python::show_signatures(value, substitute);
}
