// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "encoder_words.h"
#include "gil.h"
#include "tricodec/encode_video.h"

namespace tricodec::python {

namespace {

Tensor to_pixels(const py::object& frames) {
    const ArrayView array = import_for_work(frames, {.name = "frames", .convert = true});
    if (!array.on_gpu() && array.dtype() != DType::uint8 && array.dtype() != DType::uint16) {
        throw py::type_error("frames have dtype " + dtype_text(array) +
                             "; frames to encode are uint8, 0 to 255 (undo a normalization, then convert them), and "
                             "raw planes of more than 8 bits uint16");
    }
    return (array.on_gpu() ? array : contiguous_view(array)).tensor();
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
