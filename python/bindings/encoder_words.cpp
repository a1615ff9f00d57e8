// SPDX-License-Identifier: Apache-2.0
#include "encoder_words.h"

#include <string>

#include "convert.h"

namespace tricodec::python {
namespace {

Rational to_rate(const py::object& value) {
    return py::isinstance<py::float_>(value) ? frame_rate_of(value.cast<double>()) : from_fraction(value, "frame_rate");
}

}  // namespace

void read_encoder_words(const py::dict& words, EncoderOptions& options) {
    for (const auto& [key, handle] : words) {
        const auto word = key.cast<std::string>();
        const auto value = py::reinterpret_borrow<py::object>(handle);
        if (word == "codec") {
            options.codec = value.cast<std::string>();
        } else if (word == "device") {
            options.device = value.cast<std::string>();
        } else if (word == "format") {
            options.format = parse_pixel_format(value.cast<std::string>());
        } else if (word == "frame_rate") {
            options.frame_rate = to_rate(value);
        } else if (word == "time_base") {
            options.time_base = from_fraction(value, "time_base");
        } else if (word == "bit_rate") {
            options.bit_rate = value.cast<std::int64_t>();
        } else if (word == "crf") {
            options.crf = value.cast<double>();
        } else if (word == "gop_size") {
            options.gop_size = to_int(value, word + " is");
        } else if (word == "num_b_frames") {
            options.num_b_frames = to_int(value, word + " is");
        } else if (word == "color") {
            options.color = parse_color(value);
        } else if (word == "rotation") {
            options.orientation.rotation_degrees = to_int(value, word + " is");
        } else if (word == "num_threads") {
            options.num_threads = to_int(value, word + " is");
        } else if (word == "global_header") {
            options.global_header = value.cast<bool>();
        } else if (word == "repeat_headers") {
            options.repeat_headers = value.cast<bool>();
        } else if (word == "bitstream_filter") {
            options.bitstream_filter = value.cast<std::string>();
        } else if (word == "options") {
            if (value.is_none()) continue;
            // Values as people write them: {"crf": 23} means "23".
            for (const auto& [name, given] : value.cast<py::dict>()) options.options[py::str(name)] = py::str(given);
        } else {
            throw py::type_error("'" + word + "' is no keyword argument of an encoder");
        }
    }
}

}  // namespace tricodec::python
