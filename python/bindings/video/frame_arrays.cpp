// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "arrays/export.h"
#include "arrays/import.h"
#include "arrays/out_array.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "tricodec/image/transform.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

constexpr std::int64_t kLargestSide = 1 << 30;

std::string plane_name(int plane) {
    return "planes[" + std::to_string(plane) + "]";
}

/// A plane of the caller, with its element type checked.
ArrayView import_plane(const py::sequence& planes, int plane, const PixelFormatInfo& format) {
    const auto name = plane_name(plane);
    ArrayView array = import_for_work(planes[static_cast<std::size_t>(plane)], {.name = name.c_str(), .convert = true});
    const DType wanted = sample_dtype(format.format);
    if (array.dtype() != wanted) {
        throw py::type_error(name + " has dtype " + dtype_text(array) + "; " + std::string(format.name) + " holds " +
                             std::string(to_string(wanted)));
    }
    return array;
}

/// Points a plane of the frame to an array of the caller: [rows, columns] or [rows, columns, components] with dense
/// rows. nv12's chroma is often kept as [rows, columns * 2].
void place_plane(Frame& frame, int plane, const ArrayView& array) {
    const auto& format = info(frame.format);
    const std::int64_t rows = format.plane_height(plane, frame.height);
    const std::int64_t columns = format.plane_width(plane, frame.width);
    const int components = format.components_in_plane(plane);
    const auto name = plane_name(plane);
    std::vector<std::int64_t> shape{rows, columns};
    if (components > 1) shape.push_back(components);
    if (array.shape != shape && array.shape != std::vector<std::int64_t>{rows, columns * components}) {
        throw py::value_error(name + " has shape " + shape_text(array.shape) + "; " + std::string(format.name) +
                              " of this size needs " + shape_text(shape));
    }
    const TensorView view = array.tensor_view();
    if (view.device != frame.device || !view[0].is_contiguous() || view.strides_bytes[0] <= 0) {
        throw py::value_error(name + " must have C-contiguous rows on " + frame.device.to_string() + ", not " +
                              describe(view) + " with strides " + shape_text(view.strides_bytes));
    }
    frame.planes[static_cast<std::size_t>(plane)] = {array.data, view.strides_bytes[0]};
}

/// A frame over the arrays of a caller, which must stay until it is copied.
Frame borrowed_frame(std::vector<ArrayView>& arrays, PixelFormat pixel_format) {
    const PixelFormatInfo& format = info(pixel_format);
    const ArrayView& first = arrays[0];
    if (first.shape.size() < 2) {
        throw py::value_error("planes[0] must be an array with rows and columns, not of shape " +
                              shape_text(first.shape));
    }
    const auto components = first.shape.size() == 2 ? format.components_in_plane(0) : 1;
    const auto width = first.shape[1] / components;
    TRICODEC_EXPECT(width < kLargestSide && first.shape[0] < kLargestSide, refused,
                    "planes[0] is too large for a picture");
    TRICODEC_EXPECT(width > 0 && first.shape[0] > 0, invalid_argument,
                    "planes[0] has shape " + shape_text(first.shape) + "; a picture has at least one pixel");
    Frame frame;
    frame.format = pixel_format;
    frame.device = first.device;
    frame.width = static_cast<int>(width);
    frame.height = static_cast<int>(first.shape[0]);
    for (int plane = 0; plane < format.num_planes; ++plane) {
        ArrayView& array = arrays[static_cast<std::size_t>(plane)];
        if (array.device != first.device) {
            throw py::type_error(plane_name(plane) + " is on " + array.device.to_string() + " and planes[0] on " +
                                 first.device.to_string() + "; all must be in one place");
        }
        if (!array.on_gpu()) array = contiguous_view(std::move(array));
        place_plane(frame, plane, array);
    }
    return frame;
}

void copy_planes(const Frame& from, const Frame& to) {
    const auto& format = info(from.format);
    for (int plane = 0; plane < format.num_planes; ++plane) {
        const auto row_bytes = static_cast<std::size_t>(format.row_bytes(plane, from.width));
        const Plane& source = from.planes[static_cast<std::size_t>(plane)];
        const Plane& target = to.planes[static_cast<std::size_t>(plane)];
        for (std::int64_t row = 0; row < format.plane_height(plane, from.height); ++row) {
            std::memcpy(target.data + row * target.stride_bytes, source.data + row * source.stride_bytes, row_bytes);
        }
    }
}

/// Writes the picture's samples in the layout of `wanted` to `out`, an array of packed_shape().
void write_samples(const Frame& frame, PixelFormat wanted, const TensorView& out) {
    if (frame.device.kind == Device::Kind::cuda && wanted != frame.format) {
        return write_samples(to_host(frame), wanted, out);
    }
    if (wanted == frame.format) return pack(frame, out);
    if (wanted == PixelFormat::rgb24 || wanted == PixelFormat::bgr24) {
        TransformOptions options;
        options.rotate = false;
        options.color = wanted == PixelFormat::rgb24 ? OutputColor::rgb : OutputColor::bgr;
        return Transform{options}(frame, out);
    }
    if (out.is_contiguous()) {
        auto* data = static_cast<std::byte*>(out.data);
        return convert_layout_into(frame, frame_over(wanted, frame.width, frame.height, data));
    }
    pack(convert_layout(frame, wanted), out);
}

py::array copied_array(const Frame& frame, PixelFormat wanted) {
    Tensor result;
    {
        Unlocked unlocked;
        result = Tensor::empty(packed_shape(wanted, frame.width, frame.height), sample_dtype(wanted));
        write_samples(frame, wanted, result.view);
    }
    return to_numpy(std::move(result));
}

}  // namespace

Frame uploaded(const Frame& frame, const Device& device, std::optional<StreamView> stream) {
    const StreamView on = stream ? *stream : thread_stream(device);
    Frame copy = to_device(frame, device, on);
    copy.buffer->wait();  // the caller may drop the frame
    return complete_on(std::move(copy), stream);
}

std::string no_single_view(const Frame& frame) {
    return "a " + std::string(to_string(frame.format)) +
           " frame is not one strided array; use its planes, which share its memory, or to_ndarray(), which copies";
}

py::object to_ndarray(const Frame& frame, const std::optional<std::string>& format, const py::object& out) {
    const PixelFormat wanted = format ? parse_pixel_format(*format) : frame.format;
    if (!out.is_none()) {
        const ArrayView to = to_out_array(out, sample_dtype(wanted), packed_shape(wanted, frame.width, frame.height));
        const TensorView view = to.tensor_view();
        Unlocked unlocked;
        write_samples(frame, wanted, view);
        return out;
    }
    return copied_array(frame, wanted);
}

py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy) {
    const auto& frame = self.cast<const Frame&>();
    const bool is_picture = frame.format == PixelFormat::rgb24 && frame.orientation == Orientation{};
    if (is_picture && frame.device.kind == Device::Kind::cpu) {
        return to_numpy_array({frame.single_view(), frame.owner}, self, dtype, copy);
    }
    if (!copy.is_none() && !copy.cast<bool>()) {
        throw py::value_error("the RGB picture of a " + std::string(to_string(frame.format)) + " frame on " +
                              frame.device.to_string() +
                              " is made by a copy; its planes share the frame's memory: np.asarray(frame.planes[0])");
    }
    Frame host;
    {
        const Unlocked unlocked;
        host = to_host(frame);
    }
    const py::object picture = transform_frames(Transform(), {&host, 1}, true, py::none(), std::nullopt, false);
    return py::module_::import("numpy").attr("asarray")(picture, dtype);
}

Frame frame_from_planes(const py::sequence& planes, const std::string& format_name, const py::object& color,
                        int rotation, bool mirrored, std::optional<std::int64_t> pts, const py::object& time_base) {
    const PixelFormat pixel_format = parse_pixel_format(format_name);
    const PixelFormatInfo& format = info(pixel_format);
    if (py::isinstance<py::str>(planes) || planes.size() != format.num_planes) {
        throw py::value_error(std::string(format.name) + " has " + std::to_string(format.num_planes) +
                              " planes, but planes holds " + std::to_string(planes.size()));
    }
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
    const auto parsed_color = parse_color(color);
    std::vector<ArrayView> arrays;
    for (int plane = 0; plane < format.num_planes; ++plane) arrays.push_back(import_plane(planes, plane, format));
    const Frame borrowed = borrowed_frame(arrays, pixel_format);
    Frame frame;
    {
        const Unlocked unlocked;
        if (borrowed.device.kind == Device::Kind::cuda) {
            frame = copy_on_device(borrowed,
                                   arrays[0].stream);  // a stream of this thread, for which all arrays are complete
            frame.buffer->wait();                      // from here on the caller may change the arrays
        } else {
            frame = alloc_frame(pixel_format, borrowed.width, borrowed.height);
            copy_planes(borrowed, frame);
        }
    }
    frame.color = parsed_color;
    frame.orientation = {rotation, mirrored};
    frame.pts = from_timestamp(pts);
    frame.time_base = from_fraction(time_base, "time_base");
    return frame;
}

}  // namespace tricodec::python
