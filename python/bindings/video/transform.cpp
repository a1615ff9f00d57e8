// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "arrays/cuda_streams.h"
#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "video/options.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

py::object apply(const Transform& self, const py::object& frames, const py::object& out, const py::object& stream,
                 bool pinned, const py::object& input_consumed) {
    const auto on = to_stream(stream);
    if (py::isinstance<Frame>(frames)) {
        const Frame frame = frames.cast<Frame>();
        return transform_frames(self, {&frame, 1}, true, out, on, pinned, input_consumed);
    }
    std::vector<Frame> batch;
    if (!py::isinstance<py::list>(frames) && !py::isinstance<py::tuple>(frames)) {
        throw py::type_error("frame must be a tricodec.Frame, or a list or tuple of them, not " + shown(frames) +
                             "; Frame.from_planes() makes one from arrays");
    }
    for (const py::handle item : frames) {
        if (!py::isinstance<Frame>(item)) {
            throw py::type_error("a list of frames must hold tricodec.Frame only, not " + shown(item));
        }
        batch.push_back(item.cast<Frame>());
    }
    return transform_frames(self, batch, false, out, on, pinned, input_consumed);
}

py::tuple output_shape(const Transform& self, int width, int height, int rotation) {
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
    return py::tuple(py::cast(self.output_shape(width, height, Orientation{rotation, false})));
}

template <auto Field>
py::tuple lines_of(const FusionReport& report) {
    return py::tuple(py::cast(report.*Field));
}

void bind_fusion_report(py::module_& module) {
    py::class_<FusionReport> cls(
        module, "FusionReport",
        "How the steps of a Transform run for frames of one geometry; ``str()`` gives a text for "
        "people to read.\n\n"
        "Thread safety: safe; it never changes.");
    publish(cls, "tricodec.video");
    cls.def_readonly("name", &FusionReport::name, "The remaining steps: \"yuv420p_to_rgb + resize + normalize + chw\".")
        .def_readonly("engine", &FusionReport::engine, "What transforms such a frame: \"highway AVX3\", ...")
        .def_readonly(
            "path", &FusionReport::path,
            "\"fused rows\", \"generic rows\" or \"scalar\"; for a frame on a GPU its kernel with grid and threads.")
        .def_property_readonly("fused", lines_of<&FusionReport::fused>,
                               "Steps without a pass of their own, and where each was fused, a tuple of str.")
        .def_property_readonly("erased", lines_of<&FusionReport::erased>,
                               "Steps that change nothing, and why, a tuple of str.")
        .def_property_readonly("not_fused", lines_of<&FusionReport::not_fused>,
                               "Steps with work of their own, and why, a tuple of str.")
        .def("__str__", &FusionReport::to_string)
        .def("__repr__", [](const FusionReport& self) {
            return "<tricodec.video.FusionReport " + self.name + ": " + self.path + ", " + self.engine + ">";
        });
}

}  // namespace

void bind_transform(py::module_& module) {
    bind_fusion_report(module);
    const auto about =
        R"(Crop, resize, color conversion, normalization, dtype and layout in one pass from a decoded frame to an array.

    >>> transform = tricodec.Transform(size=(224, 224), dtype="float32", layout="CHW", mean=0.5, std=0.25)
    >>> transform(tricodec.FrameReader(tricodec.sample_video(), device="cpu")[0]).shape
    (3, 224, 224)

Every engine and every front end gives the same bytes; the page "Transform" of the documentation has the arithmetic.

)" + arguments_text(transform_options()) +
        R"(
Raises:
    ValueError: naming the option that is not accepted.
    TypeError: if an option is of the wrong type or not known.

Thread safety: safe from any number of threads.)";
    py::class_<Transform, std::shared_ptr<Transform>> cls(module, "Transform", about.c_str());
    publish(cls);
    cls.def("__call__", apply, py::arg("frame"), py::arg("out") = py::none(), py::kw_only(),
            py::arg("stream") = py::none(), py::arg("pinned") = false, py::arg("input_consumed") = py::none(),
            R"(Transform one frame, or several. On a GPU several frames share a launch.

Args:
    frame: a Frame, or a list or tuple of them, all on one device and of one size.
    out: an array for the result: a numpy array, a torch tensor, or writable memory by DLPack, the buffer protocol,
        __array_interface__ or __cuda_array_interface__. It has the shape and dtype of the result and any strides that
        keep its elements apart. Its memory is on the host or on the frames' GPU, for frames on the CPU also on any
        GPU. None allocates an array where the frame is.
    stream: a CUDA stream of the caller for a result on a GPU: a handle, or a stream of torch, CuPy, pycuda or Numba.
        The result is written after the work queued there. Work queued there later sees the result, and the call does
        not wait. Without a stream the call waits until an ``out`` on a GPU is written.
    pinned: allocate the result in page-locked host memory if there is a GPU, wherever the frames are.
    input_consumed: a CUDA event for frames on a GPU: a handle, or an event of torch, CuPy or Numba. The call records
        it on ``stream`` right after the work that reads the frames. A caller that fills the frames' memory again makes
        the stream of that work wait for the event; the result may then still be on its way to the host.
Returns:
    ``out`` if it was given, else a numpy array, or a DeviceArray for frames on a GPU. Its shape is [H, W, C] or as
    the layout says, [N, ...] for several frames.
Raises:
    ValueError: if the crop does not lie inside the picture, or ``out`` has another shape, is read-only or on another
        device, and for ``input_consumed`` with frames on the CPU, which are read when the call returns.
    TypeError: if ``out`` has another dtype or is not an array.
    ImportError: for bfloat16 without ``out`` where ml_dtypes is not installed.)")
        .def("describe", &Transform::describe, "The steps, for people to read.")
        .def(
            "explain",
            [](const Transform& self, const Frame& frame) {
                Unlocked unlocked;
                return self.explain(frame);
            },
            py::arg("frame"),
            R"(Which steps are fused, left out or done separately for frames like this one, and why.

The log has the same at level debug when a Transform meets a new geometry.

Args:
    frame: a Frame; its format, size, color and orientation count, not its pixels.
Returns:
    A FusionReport.
Raises:
    ValueError: if the crop does not lie inside the picture.
    UnsupportedError: if the frame cannot be transformed in this way.)")
        .def("output_shape", output_shape, py::arg("width"), py::arg("height"), py::arg("rotation") = 0,
             R"(Shape of the result for frames of a size.

Args:
    width: pixels, before rotation.
    height: pixels, before rotation.
    rotation: rotation of the frames, in degrees clockwise.
Returns:
    (H, W, C), or as the layout says.
Raises:
    ValueError: if the crop does not lie inside the picture.)")
        .def_property_readonly(
            "options", [](const Transform& self) { return option_values(transform_options(), self.options()); },
            "The declaration as a dict: ``Transform(**t.options)`` equals ``t``.")
        .def("__reduce__",
             [](const py::object& self) {
                 return py::module_::import("tricodec.video._pickling").attr("reduce_transform")(self);
             })
        .def("__repr__", [](const Transform& self) { return "<tricodec.Transform " + self.describe() + ">"; });
    py::options shown;
    shown.disable_function_signatures();  // the docstring has its own
    cls.def(py::init(&make_transform), init_signature(transform_options()).c_str());
}

}  // namespace tricodec::python
