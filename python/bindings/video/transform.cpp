// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "arrays/cuda_streams.h"
#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

constexpr std::size_t kMostFloats = 64;

std::vector<float> to_floats(const py::object& value, const char* what) {
    if (value.is_none()) return {};
    try {
        if (PyFloat_Check(value.ptr()) || PyNumber_Check(value.ptr())) {
            // A number. numpy arrays of one element count as numbers; longer ones raise here and are sequences below.
            if (!has_attribute(value, "__len__")) return {value.cast<float>()};
        }
        std::vector<float> result;
        for (const py::handle item : value) {
            if (result.size() == kMostFloats)  // an iterator may have no end
                throw py::value_error(std::string(what) + " has more than " + std::to_string(kMostFloats) +
                                      " values; pass one number, or one for each channel");
            result.push_back(item.cast<float>());
        }
        if (result.empty()) throw py::value_error(std::string(what) + " is empty; pass None for no " + what);
        return result;
    } catch (const py::cast_error&) {
        throw py::type_error(std::string(what) + " must be a number or a sequence of numbers, not " + shown(value));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
        throw py::type_error(std::string(what) + " must be a number or a sequence of numbers, not " + shown(value));
    }
}

bool to_flag(const py::object& value, const char* what) {
    if (!py::isinstance<py::bool_>(value))
        throw py::type_error(std::string(what) + " must be a bool, not " + shown(value));
    return value.cast<bool>();
}

std::shared_ptr<Transform> create(const py::object& crop, const py::object& size, const py::object& resize,
                                  const py::object& antialias, const py::object& chroma, const py::object& color,
                                  const py::object& matrix, const py::object& range, const py::object& unspecified,
                                  const py::object& rotate, const py::object& dtype, const py::object& layout,
                                  const py::object& scale, const py::object& mean, const py::object& std) {
    TransformOptions options;
    set_geometry(options, crop, size);
    options.resize = parse_resize(to_word(resize, "resize"));
    options.antialias = to_flag(antialias, "antialias");
    options.chroma = parse_chroma_upsampling(to_word(chroma, "chroma"));
    options.color = parse_output_color(to_word(color, "color"));
    if (!matrix.is_none()) options.matrix = parse_color_matrix(to_word(matrix, "matrix"));
    if (!range.is_none()) options.range = parse_color_range(to_word(range, "range"));
    options.unspecified = parse_unspecified_matrix(to_word(unspecified, "unspecified"));
    options.rotate = to_flag(rotate, "rotate");
    options.dtype = parse_dtype(to_dtype_name(dtype));
    options.layout = parse_layout(to_word(layout, "layout"));
    if (!scale.is_none()) options.scale = to_floats(scale, "scale").at(0);
    options.mean = to_floats(mean, "mean");
    options.std = to_floats(std, "std");
    return std::make_shared<Transform>(std::move(options));
}

template <class Enum, std::size_t N>
const char* name_of(Enum value, const std::array<const char*, N>& names) {
    return names.at(static_cast<std::size_t>(value));
}

py::object to_tuple_or_none(const std::vector<float>& values) {
    if (values.empty()) return py::none();
    return py::tuple(py::cast(values));
}

py::dict options_of(const Transform& transform) {
    const TransformOptions& options = transform.options();
    py::dict result;
    result["crop"] = options.crop ? py::object(py::make_tuple(options.crop->top, options.crop->left,
                                                              options.crop->height, options.crop->width))
                                  : py::none();
    result["size"] = options.size ? py::object(py::make_tuple(options.size->height, options.size->width)) : py::none();
    result["resize"] = name_of(options.resize, std::array{"nearest", "bilinear", "bicubic"});
    result["antialias"] = options.antialias;
    result["chroma"] = name_of(options.chroma, std::array{"interpolated", "nearest"});
    result["color"] = name_of(options.color, std::array{"rgb", "bgr", "gray", "yuv", "rgba"});
    result["matrix"] = options.matrix ? py::object(py::str(std::string(to_string(*options.matrix)))) : py::none();
    result["range"] = options.range ? py::object(py::str(std::string(to_string(*options.range)))) : py::none();
    result["unspecified"] = name_of(options.unspecified, std::array{"bt601", "bt709", "by_height"});
    result["rotate"] = options.rotate;
    result["dtype"] = std::string(to_string(options.dtype));
    result["layout"] = std::string(to_string(options.layout));
    result["scale"] = options.scale ? py::object(py::float_(*options.scale)) : py::none();
    result["mean"] = to_tuple_or_none(options.mean);
    result["std"] = to_tuple_or_none(options.std);
    return result;
}

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

}  // namespace

std::string to_word(const py::object& value, const char* what) {
    if (!py::isinstance<py::str>(value) && has_attribute(py::type::of(value), "__members__"))
        return value.attr("name").cast<std::string>();  // an enumeration's: torchvision's, Pillow's
    if (!py::isinstance<py::str>(value))
        throw py::type_error(std::string(what) + " must be a str, not " + shown(value));
    return value.cast<std::string>();
}

std::shared_ptr<Transform> make_transform(const py::kwargs& options) {
    return py::type::of<Transform>()(**options).cast<std::shared_ptr<Transform>>();
}

namespace {

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
    py::class_<Transform, std::shared_ptr<Transform>> cls(
        module, "Transform",
        "Crop, resize, color conversion, normalization, dtype and layout in one pass from a decoded frame to an "
        "array.\n\n"
        "docs/reference/transform.md defines the arithmetic. Every engine and every front end gives the same bytes.\n\n"
        "Thread safety: safe from any number of threads.");
    publish(cls);
    cls.def(py::init(&create), py::kw_only(), py::arg("crop") = py::none(), py::arg("size") = py::none(),
            py::arg("resize") = "bilinear", py::arg("antialias") = true, py::arg("chroma") = "interpolated",
            py::arg("color") = "rgb", py::arg("matrix") = py::none(), py::arg("range") = py::none(),
            py::arg("unspecified") = "bt601", py::arg("rotate") = true, py::arg("dtype") = "uint8",
            py::arg("layout") = "HWC", py::arg("scale") = py::none(), py::arg("mean") = py::none(),
            py::arg("std") = py::none(),
            R"(Declare the steps.

Args:
    crop: (top, left, height, width) in pixels of the upright picture; None is the whole picture.
    size: (height, width) of the result; None is the size of the crop.
    resize: filter of the resize: "nearest", "bilinear" or "bicubic".
    antialias: widen the filter when the picture shrinks; "nearest" ignores it.
    chroma: how subsampled chroma comes to full resolution: "interpolated" from the samples around a pixel, or
        "nearest", the sample that covers it: for a model trained on frames of torchcodec, decord or OpenCV.
    color: channels of the result: "rgb", "bgr", "gray", "yuv" (the stream's own samples at full resolution) or "rgba"
        (RGB and the opacity, which is full for streams without transparency).
    matrix: color matrix to use instead of the stream's: "bt601", "bt709", "bt2020", ...
    range: range of the samples to use instead of the stream's: "limited" or "full".
    unspecified: matrix of a stream that states none: "bt601", "bt709" or "by_height" (BT.709 from 720 lines on).
    rotate: turn the picture upright according to its metadata.
    dtype: "uint8", "float16", "bfloat16" or "float32" (numpy's dtypes too). A numpy array of bfloat16 needs the
        package ml_dtypes; ``out`` can also be a torch.bfloat16 tensor, which does not.
    layout: "HWC", "CHW", or TensorRT's "CHW2" (channels in pairs, [ceil(C / 2), H, W, 2]) and "HWC8" ([H, W, 8 *
        ceil(C / 8)]); elements without a channel are zero.
    scale: float results are (value * scale - mean) / std with value in 0..255; None is 1/255.
    mean: one number, or one for each channel; None is 0.
    std: one number, or one for each channel; None is 1.
Raises:
    ValueError: naming the option that is not accepted.
    TypeError: if an option is of the wrong type or not known.)")
        .def("__call__", apply, py::arg("frame"), py::arg("out") = py::none(), py::kw_only(),
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
        .def_property_readonly("options", options_of,
                               "The declaration as a dict: ``Transform(**t.options)`` equals ``t``.")
        .def("__reduce__",
             [](const py::object& self) {
                 return py::module_::import("tricodec.video._pickling").attr("reduce_transform")(self);
             })
        .def("__repr__", [](const Transform& self) { return "<tricodec.Transform " + self.describe() + ">"; });
}

}  // namespace tricodec::python
