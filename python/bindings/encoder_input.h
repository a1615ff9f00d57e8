// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "tricodec/encoder.h"

namespace tricodec::python {

namespace py = pybind11;

/// What Encoder.encode() takes as a frame: a Frame as it is, or a frame over the memory of an array in host memory,
/// which it keeps. `format` names the array's layout, by FFmpeg's name or the words of PyNvVideoCodec; "" goes by its
/// shape. Pictures of four bytes a pixel are converted to the encoder's format here, because frames have none.
/// Raises TypeError for other objects and element types, ValueError for another size and for words that are not known.
[[nodiscard]] Frame to_encoder_input(const py::object& picture, const std::string& format,
                                     const EncoderOptions& encoder);

/// Bytes of one picture in a layout that is named as above. Raises ValueError for other names and sizes below 1.
[[nodiscard]] std::int64_t picture_bytes(const std::string& format, int width, int height);

/// The words for layouts of arrays, upper case, beside FFmpeg's names.
[[nodiscard]] py::tuple input_formats();

}  // namespace tricodec::python
