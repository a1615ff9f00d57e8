// SPDX-License-Identifier: Apache-2.0
#include "frame_arrays.h"

#include <cstring>
#include <vector>

#include "convert.h"
#include "gil.h"
#include "interop.h"
#include "tricodec/error.h"
#include "tricodec/transform.h"

namespace tricodec::python {
namespace {

DType sample_dtype(const PixelFormatInfo& format) {
    return format.bytes_per_sample == 1 ? DType::uint8 : DType::uint16;
}

/// The shape that the packed samples of a picture are given.
std::vector<std::int64_t> packed_shape(const PixelFormatInfo& format, int width, int height) {
    const std::int64_t w = width;
    const std::int64_t h = height;
    if (format.num_planes == 1) {
        if (format.num_components == 1) return {h, w};
        return {h, w, format.num_components};
    }
    if (format.num_planes == 3 && format.log2_chroma_w == 0 && format.log2_chroma_h == 0) return {3, h, w};
    const std::int64_t num_samples = format.packed_bytes(width, height) / format.bytes_per_sample;
    const bool even =
        w % (std::int64_t{1} << format.log2_chroma_w) == 0 && h % (std::int64_t{1} << format.log2_chroma_h) == 0;
    if (even && num_samples % w == 0) return {num_samples / w, w};
    return {num_samples};
}

py::array packed_array(const Frame& frame) {
    const PixelFormatInfo& format = info(frame.format);
    py::array result(to_numpy_dtype(sample_dtype(format)), packed_shape(format, frame.width, frame.height));
    const std::span<std::byte> out(static_cast<std::byte*>(result.mutable_data()),
                                   static_cast<std::size_t>(result.nbytes()));
    Unlocked unlocked;
    pack(frame, out);
    return result;
}

Frame as_format(const Frame& frame, PixelFormat wanted) {
    if (wanted == frame.format) return frame;
    const bool to_rgb = wanted == PixelFormat::rgb24 || wanted == PixelFormat::bgr24;
    if (!to_rgb) return convert_layout(frame, wanted);
    TransformOptions options;
    options.rotate = false;
    options.color = wanted == PixelFormat::rgb24 ? OutputColor::rgb : OutputColor::bgr;
    Frame result = alloc_frame(wanted, frame.width, frame.height);
    Transform{options}(frame, result.single_view());
    return result;
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
    const auto wanted = to_numpy_dtype(sample_dtype(format));
    if (!array.dtype().equal(wanted)) {
        throw py::type_error(name + " has dtype " + py::str(array.dtype()).cast<std::string>() + "; " +
                             std::string(format.name) + " holds " + std::string(to_string(sample_dtype(format))));
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

std::string no_single_view(const Frame& frame) {
    return "a " + std::string(to_string(frame.format)) +
           " frame is not one strided array; use its planes, which share its memory, or to_ndarray(), which copies";
}

py::array to_ndarray(const Frame& frame, const std::optional<std::string>& format) {
    if (!format) return packed_array(frame);
    const PixelFormat wanted = parse_pixel_format(*format);
    Frame converted;
    {
        Unlocked unlocked;
        converted = as_format(frame, wanted);
    }
    return packed_array(converted);
}

py::object array_of(const py::object& self, const py::object& dtype, const py::object& copy) {
    using namespace py::literals;
    const auto& frame = self.cast<const Frame&>();
    const bool never_copy = !copy.is_none() && !copy.cast<bool>();
    const bool must_copy = !copy.is_none() && copy.cast<bool>();
    py::array result;
    if (!must_copy && frame.has_single_view()) {
        result = view_as_numpy(frame.single_view(), self);
    } else if (never_copy) {
        throw py::value_error(no_single_view(frame));
    } else {
        result = packed_array(frame);
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
    const auto first = py::array::ensure(planes[0]);
    if (!first || first.ndim() < 2) {
        PyErr_Clear();
        throw py::value_error("planes[0] must be an array with rows and columns, not " + shown(planes[0]));
    }
    constexpr std::int64_t kLargest = 1 << 30;
    const std::int64_t height = first.shape(0);
    // [rows, columns * components] is accepted for interleaved planes.
    const int first_components = first.ndim() == 2 ? format.components_in_plane(0) : 1;
    const std::int64_t width = first.shape(1) / first_components;
    TRICODEC_EXPECT(width < kLargest && height < kLargest, refused, "planes[0] is too large for a picture");

    Frame frame = alloc_frame(pixel_format, static_cast<int>(width), static_cast<int>(height));
    frame.color = parse_color(color);
    frame.orientation = {rotation, mirrored};
    frame.pts = from_timestamp(pts);
    frame.time_base = from_fraction(time_base, "time_base");
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
