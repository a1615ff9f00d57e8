// SPDX-License-Identifier: Apache-2.0
#include "encode_video.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "convert.h"
#include "destination.h"
#include "encoder_words.h"
#include "gil.h"
#include "tricodec/encode_video.h"

namespace tricodec::python {

namespace py = pybind11;

namespace {

Tensor on_gpu(Destination array) {
    Tensor pixels;
    pixels.view = array.view;
    // Dropping an export runs code of Python's: with the lock, whichever thread it is on.
    pixels.owner = std::shared_ptr<const void>(array.held.get(), [held = array.held](const void*) mutable {
        with_lock([&] {
            held.reset();
            return 0;
        });
    });
    array.held.reset();
    const auto size = static_cast<std::size_t>(array.view.num_elements()) * size_of(array.view.dtype);
    pixels.buffer = Buffer::borrow(array.view.data, size, pixels.owner, array.view.device, array.stream);
    return pixels;
}

Tensor to_pixels(const py::object& frames) {
    if (auto there = find_on_gpu(frames)) return on_gpu(*std::move(there));
    auto array = py::array::ensure(frames);
    if (!array) {
        PyErr_Clear();
        throw py::type_error("frames must be an array, not " + shown(frames));
    }
    const bool bytes = array.dtype().kind() == 'u' && array.itemsize() == 1;
    if (!bytes && !(array.dtype().kind() == 'u' && array.itemsize() == 2)) {
        throw py::type_error("frames have dtype " + py::str(array.dtype()).cast<std::string>() +
                             "; frames to encode are uint8, 0 to 255 (undo a normalization, then convert them), and "
                             "raw planes of more than 8 bits uint16");
    }
    array = py::module_::import("numpy").attr("ascontiguousarray")(array).cast<py::array>();
    Tensor pixels;
    pixels.view.data = const_cast<void*>(array.data());  // only read
    pixels.view.dtype = bytes ? DType::uint8 : DType::uint16;
    pixels.view.shape.assign(array.shape(), array.shape() + array.ndim());
    pixels.view.strides_bytes = contiguous_strides(pixels.view.shape, pixels.view.dtype);
    pixels.owner = share_object(array);
    return pixels;
}

py::bytes run_encode_video(const py::object& frames, const std::optional<std::vector<double>>& pts_seconds,
                           const std::string& color, const std::string& layout,
                           const std::optional<std::string>& format, const py::dict& encoder,
                           const std::string& container, bool fast_start, bool fragmented) {
    PictureLayout pictures{.color = parse_output_color(color), .layout = parse_layout(layout), .format = {}};
    if (format) pictures.format = parse_pixel_format(*format);
    EncodeVideoOptions options;
    read_encoder_words(encoder, options.encoder);
    options.muxer.format = container;
    options.muxer.fast_start = fast_start;
    options.muxer.fragmented = fragmented;
    if (pts_seconds && pts_seconds->empty()) throw py::value_error("pts_seconds is empty; give one time a frame");
    Tensor pixels = to_pixels(frames);
    std::shared_ptr<std::vector<std::byte>> file;
    {
        Unlocked unlocked;
        file = encode_video(PictureArray(std::move(pixels), pictures), pts_seconds.value_or(std::vector<double>{}),
                            options);
    }
    return {reinterpret_cast<const char*>(file->data()), file->size()};
}

}  // namespace

void bind_encode_video(py::module_& module) {
    module.def("encode_video", run_encode_video, py::arg("frames"), py::arg("pts_seconds"), py::arg("color"),
               py::arg("layout"), py::arg("format"), py::arg("encoder"), py::arg("container"), py::arg("fast_start"),
               py::arg("fragmented"), "What tricodec.encode_video() calls.");
}

}  // namespace tricodec::python
