// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/frame.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>

#include "arrays/cuda_streams.h"
#include "arrays/export.h"
#include "arrays/out_array.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/device.h"
#include "tricodec/image/transform.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

ArrayView single_array(const Frame& frame) {
    if (!frame.has_single_view()) throw py::buffer_error(no_single_view(frame));
    return {frame.single_view(), frame.owner, frame.buffer};
}

py::tuple planes_of(const Frame& self) {
    const int num_planes = info(self.format).num_planes;
    py::tuple result(static_cast<std::size_t>(num_planes));
    for (int i = 0; i < num_planes; ++i) {
        result[static_cast<std::size_t>(i)] =
            py::cast(std::make_shared<PlaneArray>(PlaneArray{{self.plane_view(i), self.owner, self.buffer}}));
    }
    return result;
}

py::bytes pack_bytes(const Frame& self) {
    PyObject* result = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(self.size_bytes()));
    if (result == nullptr) throw py::error_already_set();
    auto bytes = py::reinterpret_steal<py::bytes>(result);
    const std::span<std::byte> out(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(result)),
                                   static_cast<std::size_t>(self.size_bytes()));
    Unlocked unlocked;
    pack(self, out);
    return bytes;
}

py::object pack_to(const Frame& self, const py::object& out) {
    if (out.is_none()) return pack_bytes(self);
    const ArrayView to = to_out_bytes(out, self.size_bytes());
    const std::span<std::byte> bytes(to.data, static_cast<std::size_t>(self.size_bytes()));
    Unlocked unlocked;
    pack(self, bytes);
    return out;
}

py::object md5_of(const Frame& self) {
    using namespace py::literals;
    const auto hash = py::module_::import("hashlib").attr("md5")(pack_bytes(self), "usedforsecurity"_a = false);
    return hash.attr("hexdigest")();
}

py::object seconds_of(const Frame& self) {
    if (self.pts == kNoTimestamp || !self.time_base.known()) return py::none();
    return py::float_(self.pts_seconds());
}

Frame convert(const Frame& self, const std::string& format) {
    const PixelFormat wanted = parse_pixel_format(format);
    Unlocked unlocked;
    if (wanted == self.format || self.device.kind == Device::Kind::cpu) return convert_layout(self, wanted);
    return uploaded(convert_layout(to_host(self), wanted), self.device, std::nullopt);
}

Frame moved(const Frame& self, const DeviceWord& device, const py::object& stream) {
    const auto on = to_stream(stream);
    Unlocked unlocked;
    const Device wanted = resolve_device(device.text);
    if (wanted == self.device) return complete_on(self, on);
    const Frame host = to_host(self);
    return wanted.kind == Device::Kind::cpu ? host : uploaded(host, wanted, on);
}

py::object device_array_of(const Frame& self, const py::object& shape) {
    if (self.device.kind == Device::Kind::cpu) {
        throw py::value_error("the frame is in host memory; to_ndarray() and planes make arrays of it");
    }
    const auto& format = info(self.format);
    const std::byte* next = self.planes[0].data;
    for (int plane = 0; plane < format.num_planes; ++plane) {
        const auto& here = self.planes[static_cast<std::size_t>(plane)];
        if (here.data != next || here.stride_bytes != format.row_bytes(plane, self.width)) {
            throw py::value_error("the planes of this frame do not follow one another without padding; use planes");
        }
        next += here.stride_bytes * format.plane_height(plane, self.height);
    }
    TensorView view;
    view.data = self.planes[0].data;
    view.dtype = sample_dtype(self.format);
    view.device = self.device;
    view.shape = packed_shape(self.format, self.width, self.height);
    if (!shape.is_none()) {
        const auto samples = view.num_elements();
        view.shape = py::tuple(shape).cast<std::vector<std::int64_t>>();
        if (!holds(view.shape, samples)) {
            throw py::value_error("shape " + shape_text(view.shape) + " does not hold the frame's " +
                                  std::to_string(samples) + " samples");
        }
    }
    view.strides_bytes = contiguous_strides(view.shape, view.dtype);
    return to_device_array({std::move(view), self.owner, self.buffer});
}

std::string describe_frame(const Frame& frame) {
    std::ostringstream text;
    text << "<tricodec.Frame";
    if (frame.index >= 0) text << " " << frame.index << ":";
    text << " " << to_string(frame.format) << " " << frame.width << "x" << frame.height;
    if (frame.pts != kNoTimestamp) {
        text << ", pts " << frame.pts;
        if (frame.time_base.known()) text << " (" << frame.pts_seconds() << " s)";
    }
    if (frame.picture_type != '?') text << ", " << frame.picture_type;
    if (frame.key) text << ", key";
    if (frame.orientation.rotation_degrees != 0) text << ", rotated " << frame.orientation.rotation_degrees;
    if (frame.corrupt) text << ", corrupt";
    if (frame.device.kind == Device::Kind::cuda) text << ", on " << frame.device.to_string();
    text << ">";
    return text.str();
}

void bind_facts(py::class_<Frame, std::shared_ptr<Frame>>& cls) {
    def_picture_facts(cls);
    cls.def_property_readonly("format", field<word_of>(&Frame::format),
                              "FFmpeg's name of the samples' layout: \"yuv420p\", \"nv12\", \"yuv420p10le\", ...")
        .def_property_readonly("pts", field<to_timestamp>(&Frame::pts),
                               "Presentation time in time_base units, or None.")
        .def_property_readonly("pts_seconds", seconds_of, "Presentation time in seconds, or None.")
        .def_readonly("duration", &Frame::duration, "In time_base units; 0 unknown.")
        .def_readonly("index", &Frame::index, "Number in presentation order; -1 unknown.")
        .def_readonly("key", &Frame::key, "True if decoding can start at its packet, as the packet's headers say.")
        .def_readonly("corrupt", &Frame::corrupt, "True if the decoder reports damage or concealment.")
        .def_property_readonly(
            "picture_type", [](const Frame& self) { return std::string(1, self.picture_type); },
            "\"I\", \"P\", \"B\" or \"?\".")
        .def_property_readonly(
            "block_statistics",
            [](const Frame& self) -> py::object {
                if (self.block_statistics == nullptr) return py::none();
                return to_bytes(*self.block_statistics);
            },
            "Quantizers, types and motion vectors of the 16x16 blocks, bytes in NVIDIA's layout\n"
            "(docs/migration/pynvvideocodec.md); None if the decoder was not asked for them or cannot tell.")
        .def_property_readonly("size_bytes", &Frame::size_bytes, "Bytes of the pixels without padding.");
}

}  // namespace

void bind_frame(py::module_& module) {
    py::class_<Frame, std::shared_ptr<Frame>> cls(
        module, "Frame",
        R"(A decoded picture. It stays valid and unchanged as long as the program holds it or an array made from it.

    >>> frame = tricodec.FrameReader(tricodec.sample_video(), device="cpu")[66]
    >>> frame.format, frame.pts_seconds, np.asarray(frame.planes[0]).shape
    ('yuv420p', 2.64, (720, 1280))

``np.asarray(frame)`` and ``plt.imshow(frame)`` give the upright picture in host memory, uint8 RGB, [H, W, 3], for every
format and device. ``planes`` share the decoded samples; ``to_ndarray()`` and ``pack()`` copy them. DLPack and the CUDA
array interface share frames that one strided array describes (gray, rgb24, packed nv12).

Thread safety: safe; the pixels must not be written.)");
    publish(cls);
    bind_facts(cls);
    cls.def_property_readonly("planes", planes_of, "The planes, a tuple of Plane, sharing the frame's memory.")
        .def("to_ndarray", to_ndarray, py::arg("format") = py::none(), py::arg("out") = py::none(),
             R"(Copy the picture into one array without padding.

Args:
    format: a layout to convert to first: any that convert() accepts, or "rgb24" or "bgr24", which are converted as
        Transform does without rotation.
    out: an array of the result's shape and dtype to write to, as in Transform; None allocates one.
Returns:
    uint8, or uint16 for more than 8 bits; [H, W] for gray, [H, W, 3] for rgb24, [3, H, W] for three planes of full
    size, [H * 3 / 2, W] for 4:2:0 and [H * 2, W] for 4:2:2 of even size, else one axis. ``out`` if that was given.
Raises:
    ValueError, TypeError: if ``out`` does not fit, is read-only or not in host memory.
    UnsupportedError: if the conversion needs resampling.)")
        .def(
            "cpu", [](const Frame& self) { return moved(self, DeviceWord{"cpu"}, py::none()); },
            "The frame in host memory: itself, or a copy in page-locked memory of a frame on a GPU.")
        .def("to", moved, py::arg("device"), py::kw_only(), py::arg("stream") = py::none(),
             R"(The frame on a device: itself if it is there, else a copy.

Args:
    device: "cpu", "cuda", "cuda:N" or "auto".
    stream: a stream of the caller. Work queued on it after the call sees a frame on a GPU complete.
Raises:
    DeviceError: if a GPU is named and there is none.)")
        .def("device_array", device_array_of, py::arg("shape") = py::none(),
             R"(The packed samples of a frame on a GPU as one array, without a copy.

Args:
    shape: any shape with as many samples; None is the shape of to_ndarray().
Returns:
    A DeviceArray, uint8, or uint16 for more than 8 bits.
Raises:
    ValueError: for a frame in host memory, planes with padding, or a shape with another number of samples.)")
        .def("pack", pack_to, py::arg("out") = py::none(),
             R"(The planes one after another without padding.

Args:
    out: a writable, C-contiguous array or buffer of size_bytes bytes, which is returned; None makes a bytes.
Raises:
    ValueError, TypeError: if ``out`` does not fit.)")
        .def("md5", md5_of, "MD5 of pack(), in hexadecimal: what ``ffmpeg -f framemd5`` prints.")
        .def(
            "convert", convert, py::arg("format"),
            R"(The same samples, planar or semi-planar, or with another depth by shifting. The host converts frames of a GPU.

Args:
    format: FFmpeg's name.
Raises:
    ValueError: if the name is not known.
    UnsupportedError: if the conversion needs resampling or other colors; use Transform.)")
        .def_static("from_planes", frame_from_planes, py::arg("planes"), py::arg("format"), py::kw_only(),
                    py::arg("color") = py::none(), py::arg("rotation") = 0, py::arg("mirrored") = false,
                    py::arg("pts") = py::none(), py::arg("time_base") = py::none(),
                    R"(Copy arrays into a new frame, on the GPU that they are on.

Args:
    planes: one array a plane: uint8 (uint16 for more than 8 bits), [rows, columns], or [rows, columns, components]
        where components lie side by side (nv12's chroma, rgb24). The first gives the size.
    format: FFmpeg's name of the layout.
    color: a ColorDescription, or a dict with any of its attributes.
    rotation: degrees clockwise: 0, 90, 180 or 270.
    mirrored: mirrored left-right before the rotation.
    pts: in time_base units, or None.
    time_base: a Fraction or (numerator, denominator), or None.
Raises:
    ValueError, TypeError: if the number of planes, a shape or a dtype does not fit the format.)")
        .def(
            "__array__", array_of, py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
            R"(numpy's conversion: the upright picture, uint8 RGB, [H, W, 3]. Only an upright rgb24 frame on the host is shared.

Raises:
    ValueError: if copy is False and a copy is needed.)")
        .def(
            "_repr_png_",
            [](const py::object& self) {
                return py::module_::import("tricodec.show.pictures").attr("png_of_frame")(self);
            },
            "The frame as it is displayed, made smaller if it has more than a million pixels, as a PNG file.")
        .def("__repr__", describe_frame);
    def_exchange(cls, single_array);
    def_waiting(cls);
}

}  // namespace tricodec::python
