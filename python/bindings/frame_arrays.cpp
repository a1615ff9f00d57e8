// SPDX-License-Identifier: Apache-2.0
#include "frame_arrays.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "convert.h"
#include "destination.h"
#include "gil.h"
#include "interop.h"
#include "results.h"
#include "tricodec/error.h"
#include "tricodec/gpu.h"
#include "tricodec/transform.h"

namespace tricodec::python {
namespace {

constexpr std::int64_t kLargestSide = 1 << 30;

/// The array of a plane, checked, on a GPU.
Destination checked_gpu_plane(const py::handle& given, int plane, const PixelFormatInfo& format) {
    const std::string name = "planes[" + std::to_string(plane) + "]";
    auto array = find_on_gpu(py::reinterpret_borrow<py::object>(given));
    if (!array) throw py::type_error(name + " is in host memory and planes[0] on a GPU; all must be in one place");
    const DType wanted = sample_dtype(format.format);
    if (array->view.dtype != wanted) {
        throw py::type_error(name + " has dtype " + std::string(to_string(array->view.dtype)) + "; " +
                             std::string(format.name) + " holds " + std::string(to_string(wanted)));
    }
    return *std::move(array);
}

/// A view of a plane as rows of bytes: [rows, columns] or [rows, columns, components] with dense rows.
void place_plane(Frame& frame, int plane, const TensorView& view) {
    const auto& format = info(frame.format);
    const std::int64_t rows = format.plane_height(plane, frame.height);
    const std::int64_t columns = format.plane_width(plane, frame.width);
    const int components = format.components_in_plane(plane);
    std::vector<std::int64_t> shape{rows, columns};
    if (components > 1) shape.push_back(components);
    const std::string name = "planes[" + std::to_string(plane) + "]";
    if (view.shape != shape && view.shape != std::vector<std::int64_t>{rows, columns * components}) {
        throw py::value_error(name + " has shape " + shape_text(view.shape) + "; " + std::string(format.name) +
                              " of this size needs " + shape_text(shape));
    }
    if (view.device != frame.device || !view[0].is_contiguous() || view.strides_bytes[0] <= 0) {
        throw py::value_error(name + " must have C-contiguous rows on " + frame.device.to_string() + ", not " +
                              describe(view) + " with strides " + shape_text(view.strides_bytes));
    }
    frame.planes[static_cast<std::size_t>(plane)] = {static_cast<std::byte*>(view.data), view.strides_bytes[0]};
}

/// A new frame from arrays on a GPU; waits for the copy, so that the arrays are the caller's again.
Frame copied_from_gpu(const py::sequence& planes, PixelFormat pixel_format) {
    const PixelFormatInfo& format = info(pixel_format);
    std::vector<Destination> arrays;
    for (int plane = 0; plane < format.num_planes; ++plane) {
        arrays.push_back(checked_gpu_plane(planes[static_cast<std::size_t>(plane)], plane, format));
    }
    const TensorView& first = arrays[0].view;
    if (first.shape.size() < 2) {
        throw py::value_error("planes[0] must be an array with rows and columns, not " + describe(first));
    }
    Frame borrowed;
    borrowed.format = pixel_format;
    borrowed.device = first.device;
    const auto components = first.shape.size() == 2 ? format.components_in_plane(0) : 1;
    borrowed.width = static_cast<int>(std::min<std::int64_t>(first.shape[1] / components, kLargestSide));
    borrowed.height = static_cast<int>(std::min<std::int64_t>(first.shape[0], kLargestSide));
    for (int plane = 0; plane < format.num_planes; ++plane) {
        place_plane(borrowed, plane, arrays[static_cast<std::size_t>(plane)].view);
    }
    const Unlocked unlocked;
    const StreamView stream = arrays[0].stream;  // this thread's, which all arrays were ordered before
    Frame frame = copy_on_device(borrowed, stream);
    frame.buffer->wait();
    return frame;
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
    return to_numpy(result);
}

/// One plane of the caller's, checked, as a contiguous array.
py::array checked_plane(const py::handle& given, int plane, const PixelFormatInfo& format, std::int64_t rows,
                        std::int64_t columns) {
    const std::string name = "planes[" + std::to_string(plane) + "]";
    auto array = py::array::ensure(given);
    if (!array) {
        PyErr_Clear();
        throw py::type_error(name + " must be an array, not " + shown(given));
    }
    const auto wanted = to_numpy_dtype(sample_dtype(format.format));
    if (!array.dtype().equal(wanted)) {
        throw py::type_error(name + " has dtype " + py::str(array.dtype()).cast<std::string>() + "; " +
                             std::string(format.name) + " holds " +
                             std::string(to_string(sample_dtype(format.format))));
    }
    std::vector<std::int64_t> shape{rows, columns};
    const int components = format.components_in_plane(plane);
    if (components > 1) shape.push_back(components);
    const std::vector<std::int64_t> actual(array.shape(), array.shape() + array.ndim());
    // nv12's chroma is often kept as [rows, columns * 2].
    const bool interleaved = components > 1 && actual == std::vector<std::int64_t>{rows, columns * components};
    if (actual != shape && !interleaved) {
        throw py::value_error(name + " has shape " + shape_text(actual) + "; " + std::string(format.name) +
                              " of this size needs " + shape_text(shape));
    }
    return py::module_::import("numpy").attr("ascontiguousarray")(array).cast<py::array>();
}

}  // namespace

Frame uploaded(const Frame& frame, const Device& device, std::optional<StreamView> stream) {
    const StreamView on = stream ? *stream : thread_stream(device);
    Frame copy = to_device(frame, device, on);
    copy.buffer->wait();  // the caller may drop the frame
    return lent(std::move(copy), stream);
}

std::string no_single_view(const Frame& frame) {
    return "a " + std::string(to_string(frame.format)) +
           " frame is not one strided array; use its planes, which share its memory, or to_ndarray(), which copies";
}

py::object to_ndarray(const Frame& frame, const std::optional<std::string>& format, const py::object& out) {
    const PixelFormat wanted = format ? parse_pixel_format(*format) : frame.format;
    if (!out.is_none()) {
        const Destination to =
            to_destination(out, sample_dtype(wanted), packed_shape(wanted, frame.width, frame.height));
        Unlocked unlocked;
        write_samples(frame, wanted, to.view);
        return out;
    }
    return copied_array(frame, wanted);
}

py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy) {
    using namespace py::literals;
    const auto& frame = self.cast<const Frame&>();
    if (frame.device.kind == Device::Kind::cuda) {
        throw py::type_error("the frame is on " + frame.device.to_string() +
                             ", and numpy's arrays are in host memory; copy it by to_ndarray() or cpu()");
    }
    const bool never_copy = !copy.is_none() && !copy.cast<bool>();
    const bool must_copy = !copy.is_none() && copy.cast<bool>();
    py::array result;
    if (!must_copy && frame.has_single_view()) {
        result = view_as_numpy(frame.single_view(), self);
    } else if (never_copy) {
        throw py::value_error(no_single_view(frame));
    } else {
        result = copied_array(frame, frame.format);
    }
    if (dtype.is_none() || result.dtype().equal(py::dtype::from_args(dtype))) return result;
    if (never_copy) {
        throw py::value_error("the samples are " + py::str(result.dtype()).cast<std::string>() +
                              "; another dtype needs a copy");
    }
    return result.attr("astype")(dtype);
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
    const auto describe_frame = [&](Frame& frame) {
        frame.color = parse_color(color);
        frame.orientation = {rotation, mirrored};
        frame.pts = from_timestamp(pts);
        frame.time_base = from_fraction(time_base, "time_base");
    };
    if (find_on_gpu(planes[0])) {
        Frame frame = copied_from_gpu(planes, pixel_format);
        describe_frame(frame);
        return frame;
    }
    const auto first = py::array::ensure(planes[0]);
    if (!first || first.ndim() < 2) {
        PyErr_Clear();
        throw py::value_error("planes[0] must be an array with rows and columns, not " + shown(planes[0]));
    }
    const std::int64_t height = first.shape(0);
    // [rows, columns * components] is accepted for interleaved planes.
    const int first_components = first.ndim() == 2 ? format.components_in_plane(0) : 1;
    const std::int64_t width = first.shape(1) / first_components;
    TRICODEC_EXPECT(width < kLargestSide && height < kLargestSide, refused, "planes[0] is too large for a picture");

    Frame frame = alloc_frame(pixel_format, static_cast<int>(width), static_cast<int>(height));
    describe_frame(frame);
    for (int plane = 0; plane < format.num_planes; ++plane) {
        const std::int64_t rows = format.plane_height(plane, frame.height);
        const py::array source = checked_plane(planes[static_cast<std::size_t>(plane)], plane, format, rows,
                                               format.plane_width(plane, frame.width));
        const auto row_bytes = static_cast<std::size_t>(format.row_bytes(plane, frame.width));
        const auto* from = static_cast<const std::byte*>(source.data());
        const Plane& to = frame.planes[static_cast<std::size_t>(plane)];
        for (std::int64_t row = 0; row < rows; ++row) {
            std::memcpy(to.data + row * to.stride_bytes, from + static_cast<std::size_t>(row) * row_bytes, row_bytes);
        }
    }
    return frame;
}

}  // namespace tricodec::python
