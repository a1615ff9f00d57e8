// SPDX-License-Identifier: Apache-2.0
/// What the files of this folder use from each other.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arrays/array_view.h"
#include "convert.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/image/transform.h"
#include "tricodec/io/packet.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::python {

namespace py = pybind11;

/// A Packet, or a bytes-like object copied into one (decoders read past the end, which needs padding).
[[nodiscard]] Packet to_packet(const py::object& data);

/// The options `crop` and `size`, tuples or None.
template <class Options>
void set_geometry(Options& options, const py::object& crop, const py::object& size) {
    if (!crop.is_none()) {
        const auto box = to_ints(crop, 4, "crop", "(top, left, height, width)");
        options.crop = Crop{box[0], box[1], box[2], box[3]};
    }
    if (size.is_none()) return;
    const auto extent = to_ints(size, 2, "size", "(height, width)");
    options.size = Size{extent[0], extent[1]};
}

/// New host memory for a result that is made on `made_on`: page-locked if `pinned` and there is a GPU to lock it for.
[[nodiscard]] Tensor empty_on_host(const std::vector<std::int64_t>& shape, DType dtype, const Device& made_on,
                                   bool pinned);

/// Writes host memory to an array there of the same shape and type. The lock must be held.
void copy_to(const TensorView& from, const ArrayView& to);

/// The tensor in page-locked host memory, if there is a GPU to lock it for.
[[nodiscard]] Tensor in_pinned_memory(Tensor tensor);

/// `frames` through `transform`, [N, ...] or, if `single`, without the first axis. None for `out` makes a new array: a
/// numpy array, or a DeviceArray for frames on a GPU unless `pinned`. With `stream` the call does not wait for a GPU.
/// `input_consumed` is what to_consumed_event() takes, recorded behind the work that reads the frames.
[[nodiscard]] py::object transform_frames(const Transform& transform, std::span<const Frame> frames, bool single,
                                          const py::object& out, std::optional<StreamView> stream, bool pinned,
                                          const py::object& input_consumed = py::none());

/// The frame, complete for work that is queued on `stream` from now on.
inline Frame complete_on(Frame frame, std::optional<StreamView> stream) {
    if (stream && frame.buffer) frame.buffer->lend_to(*stream);
    return frame;
}

/// A copy of a frame in host memory on a GPU, complete for `stream`, or for all.
[[nodiscard]] Frame uploaded(const Frame& frame, const Device& device, std::optional<StreamView> stream);

/// Why the frame is not one array and what to use instead.
[[nodiscard]] std::string no_single_view(const Frame& frame);

/// `out`, or a new array if that is None.
[[nodiscard]] py::object to_ndarray(const Frame& frame, const std::optional<std::string>& format,
                                    const py::object& out);
/// numpy's __array__; `self` is the Python object of the frame.
[[nodiscard]] py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy);
[[nodiscard]] Frame frame_from_planes(const py::sequence& planes, const std::string& format, const py::object& color,
                                      int rotation, bool mirrored, std::optional<std::int64_t> pts,
                                      const py::object& time_base);

/// What Encoder.encode() takes as a frame: a Frame as it is, or a frame over the memory of an array in host memory,
/// which it keeps. `format` names the array's layout, by FFmpeg's name or by PyNvVideoCodec's; "" goes by its
/// shape. Pictures of four bytes a pixel are converted to the encoder's format here, because frames have none.
/// Raises TypeError for other objects and element types, ValueError for another size and for unknown names.
[[nodiscard]] Frame to_encoder_input(const py::object& picture, const std::string& format,
                                     const EncoderOptions& encoder);

/// Bytes of one picture in a layout that is named as above. Raises ValueError for other names and sizes below 1.
[[nodiscard]] std::int64_t picture_bytes(const std::string& format, int width, int height);

/// The keyword arguments of Encoder, checked: {"codec": "h264", "frame_rate": 29.97, ...}. Other options stay.
/// Raises TypeError for an unknown name, ValueError for values that are not accepted.
void read_encoder_options(const py::dict& keywords, EncoderOptions& options);

/// True for an integer of Python or numpy, which stands for one frame.
[[nodiscard]] bool is_index(const py::handle& value);

/// The integer. Raises TypeError for bool, IndexError beyond 64 bits.
[[nodiscard]] std::int64_t to_index(const py::handle& value);

/// Raises TypeError for bool and what is no integer, ValueError beyond 64 bits; both name the argument.
[[nodiscard]] std::int64_t to_whole(const py::object& value, const std::string& name);

/// The frames of a slice, or integers in a list, tuple, range or array, negative ones counted from the end.
[[nodiscard]] FrameRequest to_frame_numbers(const py::object& value);

/// Those of a list, tuple or array, as they are.
[[nodiscard]] std::vector<std::int64_t> to_number_list(const py::object& value);

/// (numbers, times), arrays of int64 and float64.
[[nodiscard]] py::tuple to_selected_arrays(const SelectedFrames& selected);

/// What a Frame and a StreamInfo say about pictures.
template <class Class>
void def_picture_facts(Class& cls) {
    using T = typename Class::type;
    cls.def_readonly("width", &T::width, "Pixels, before rotation.")
        .def_readonly("height", &T::height, "Pixels, before rotation.")
        .def_property_readonly("time_base", field<to_fraction>(&T::time_base),
                               "Seconds per time stamp unit, a Fraction, or None.")
        .def_readonly("color", &T::color, "What colors the samples stand for, a ColorDescription.")
        .def_property_readonly(
            "rotation", [](const T& self) { return self.orientation.rotation_degrees; },
            "Degrees clockwise that turn the picture upright: 0, 90, 180 or 270.")
        .def_property_readonly(
            "mirrored", [](const T& self) { return self.orientation.mirrored; },
            "True if the picture must be mirrored left-right before it is rotated.")
        .def_readonly("interlaced", &T::interlaced, "True if pictures are pairs of fields.")
        .def_property_readonly("sample_aspect_ratio", field<to_positive_fraction>(&T::sample_aspect_ratio),
                               "Width of a pixel to its height, a Fraction, or None.");
}

}  // namespace tricodec::python
