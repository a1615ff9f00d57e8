// SPDX-License-Identifier: Apache-2.0
/// Arguments of encoders: their keywords, and arrays as frames.
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays/import.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/image/rgb_to_yuv.h"
#include "tricodec/tensor/frame.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

/// Four bytes a pixel, or planes in another order: no format of a frame.
enum class Special { none, bgra, rgba, yv12, rgbp };

struct InputFormat {
    std::string_view name;  ///< upper case
    PixelFormat format = PixelFormat::unknown;
    Special special = Special::none;
};

/// NVENC's names mean little-endian words: ARGB is B, G, R, A in memory. Words of 16 bits hold the sample in the high
/// bits; bits below the tenth are not encoded.
constexpr std::array<InputFormat, 22> kInputFormats = {{
    {"NV12", PixelFormat::nv12},
    {"NV16", PixelFormat::nv16},
    {"YUV420", PixelFormat::yuv420p},
    {"IYUV", PixelFormat::yuv420p},
    {"YV12", PixelFormat::yuv420p, Special::yv12},
    {"YUV422", PixelFormat::yuv422p},
    {"YUV444", PixelFormat::yuv444p},
    {"P010", PixelFormat::p010le},
    {"P016", PixelFormat::p010le},
    {"P210", PixelFormat::p210le},
    {"YUV420_10BIT", PixelFormat::p010le},
    {"YUV444_10BIT", PixelFormat::yuv444p10msble},
    {"YUV444_16BIT", PixelFormat::yuv444p10msble},
    {"ARGB", PixelFormat::unknown, Special::bgra},
    {"ARBG", PixelFormat::unknown, Special::bgra},
    {"ABGR", PixelFormat::unknown, Special::rgba},
    {"BGRA", PixelFormat::unknown, Special::bgra},
    {"RGBA", PixelFormat::unknown, Special::rgba},
    {"BGR0", PixelFormat::unknown, Special::bgra},
    {"RGB0", PixelFormat::unknown, Special::rgba},
    {"RGB", PixelFormat::rgb24},
    {"RGBP", PixelFormat::unknown, Special::rgbp},
}};

InputFormat find_format(const std::string& name) {
    const std::string word = lower(name);
    for (const auto& known : kInputFormats) {
        if (lower(known.name) == word) return known;
    }
    for (const auto& known : all_pixel_formats()) {
        if (known.name == word && known.format != PixelFormat::unknown) return {known.name, known.format};
    }
    throw py::value_error("format '" + name + "' is not a layout of pictures; accepted are FFmpeg's names (" +
                          "pixel_formats()) and " + listed(kInputFormats, &InputFormat::name));
}

/// The layout of an array that the caller did not name, by its shape.
InputFormat guess_format(const ArrayView& array, const EncoderOptions& encoder) {
    const auto axes = array.shape.size();
    if (!array.on_gpu() && axes == 3 && array.shape[2] == 3) return {"RGB24", PixelFormat::rgb24};
    if (!array.on_gpu() && axes == 2 && array.shape[0] == encoder.height && array.shape[1] == encoder.width) {
        return {"GRAY", PixelFormat::gray};
    }
    return {to_string(encoder.format), encoder.format};
}

std::int64_t bytes_of(const InputFormat& format, const EncoderOptions& encoder) {
    const std::int64_t area = std::int64_t{encoder.width} * encoder.height;
    if (format.special == Special::bgra || format.special == Special::rgba) return area * 4;
    if (format.special == Special::rgbp) return area * 3;
    return info(format.format).packed_bytes(encoder.width, encoder.height);
}

/// Raises TypeError or ValueError if the array does not hold a picture of the format. Samples of 16 bits may come as
/// one run of bytes.
void expect_picture(const ArrayView& array, const InputFormat& format, const EncoderOptions& encoder) {
    const int sample = format.format == PixelFormat::unknown ? 1 : info(format.format).bytes_per_sample;
    const bool unsigned_integers = array.dtype() == DType::uint8 || array.dtype() == DType::uint16;
    const bool samples = array.itemsize == sample || (array.itemsize == 1 && array.shape.size() == 1);
    if (!array.on_gpu() && !(unsigned_integers && samples)) {  // on a GPU libraries without uint16 use other types
        throw py::type_error("the picture has dtype " + dtype_text(array) + "; " + std::string(format.name) +
                             " holds " + (sample == 1 ? "uint8" : "uint16"));
    }
    if (const auto wanted = bytes_of(format, encoder); array.size() * array.itemsize != wanted) {
        throw py::value_error("the picture has shape " + shape_text(array.shape) + ", " +
                              std::to_string(array.size() * array.itemsize) + " bytes; " + std::string(format.name) +
                              " of " + size_text(encoder.width, encoder.height) + " has " + std::to_string(wanted));
    }
}

Frame convert_rgb(const std::byte* data, Special special, const EncoderOptions& encoder) {
    RgbPicture picture;
    picture.width = encoder.width;
    picture.height = encoder.height;
    const std::ptrdiff_t plane = std::ptrdiff_t{encoder.width} * encoder.height;
    for (std::size_t c = 0; c < 3; ++c) {
        const auto number = static_cast<std::ptrdiff_t>(c);
        picture.first[c] = data + (special == Special::rgbp   ? number * plane
                                   : special == Special::rgba ? number
                                                              : 2 - number);
        picture.stride_bytes[c] = std::ptrdiff_t{encoder.width} * (special == Special::rgbp ? 1 : 4);
    }
    picture.step_bytes = special == Special::rgbp ? 1 : 4;
    return rgb_to_yuv(picture, encoder.format, encoder.color);
}

/// A frame over the array's memory, which it keeps.
Frame frame_over_array(const ArrayView& array, PixelFormat layout, int width, int height) {
    Frame frame = frame_over(layout, width, height, array.data, array.memory);
    frame.device = array.device;
    if (array.on_gpu()) frame.buffer = array.ordered_buffer();
    return frame;
}

/// Converts pictures without a format of frames in host memory.
Frame convert_array(const ArrayView& array, Special special, const EncoderOptions& encoder) {
    if (!array.on_gpu()) return convert_rgb(array.data, special, encoder);
    const bool planes = special == Special::rgbp;
    const Frame host = to_host(frame_over_array(array, PixelFormat::gray, encoder.width * (planes ? 1 : 4),
                                                encoder.height * (planes ? 3 : 1)));
    return convert_rgb(host.planes[0].data, special, encoder);
}

Rational to_rate(const py::object& value) {
    return py::isinstance<py::float_>(value) ? frame_rate_of(value.cast<double>()) : from_fraction(value, "frame_rate");
}

}  // namespace

Frame to_encoder_input(const py::object& picture, const std::string& format, const EncoderOptions& encoder) {
    if (py::isinstance<Frame>(picture)) return picture.cast<Frame>();
    ArrayView array = import_for_work(picture, {.name = "picture", .convert = true});
    const InputFormat named = format.empty() ? guess_format(array, encoder) : find_format(format);
    expect_picture(array, named, encoder);
    array = contiguous_view(std::move(array));
    Unlocked unlocked;
    if (named.format == PixelFormat::unknown) return convert_array(array, named.special, encoder);
    Frame frame = frame_over_array(array, named.format, encoder.width, encoder.height);
    if (named.special == Special::yv12) std::swap(frame.planes[1], frame.planes[2]);
    return frame;
}

std::int64_t picture_bytes(const std::string& format, int width, int height) {
    if (width < 1 || height < 1) {
        throw py::value_error("pictures of " + size_text(width, height) + " have no size");
    }
    EncoderOptions size;
    size.width = width;
    size.height = height;
    return bytes_of(find_format(format), size);
}

void read_encoder_options(const py::dict& keywords, EncoderOptions& options) {
    std::string name;
    py::object value;
    const auto text = [&] { return keyword<std::string>(name, value, "a str"); };
    const auto flag = [&] { return keyword<bool>(name, value, "a bool"); };
    const auto whole = [&] { return to_int(value, name + " is"); };
    const auto read_options = [&] {
        if (value.is_none()) return;
        // Values as callers write them: {"crf": 23} means "23".
        for (const auto& [option, given] : keyword<py::dict>(name, value, "a dict"))
            options.options[py::str(option)] = py::str(given);
    };
    const std::map<std::string_view, std::function<void()>> readers = {
        {"codec", [&] { options.codec = text(); }},
        {"device", [&] { options.device = keyword<DeviceWord>(name, value, "a str or torch.device").text; }},
        {"format", [&] { options.format = parse_pixel_format(keyword<std::string>("pixel_format", value, "a str")); }},
        {"frame_rate", [&] { options.frame_rate = to_rate(value); }},
        {"time_base", [&] { options.time_base = from_fraction(value, "time_base"); }},
        {"bit_rate", [&] { options.bit_rate = keyword<std::int64_t>(name, value, "an int"); }},
        {"crf", [&] { options.crf = keyword<double>(name, value, "a float"); }},
        {"gop_size", [&] { options.gop_size = whole(); }},
        {"num_b_frames", [&] { options.num_b_frames = whole(); }},
        {"color", [&] { options.color = parse_color(value); }},
        {"rotation", [&] { options.orientation.rotation_degrees = whole(); }},
        {"num_threads", [&] { options.num_threads = whole(); }},
        {"global_header", [&] { options.global_header = flag(); }},
        {"repeat_headers", [&] { options.repeat_headers = flag(); }},
        {"bitstream_filter", [&] { options.bitstream_filter = text(); }},
        {"options", read_options},
    };
    for (const auto& [key, handle] : keywords) {
        name = key.cast<std::string>();
        value = py::reinterpret_borrow<py::object>(handle);
        const auto reader = readers.find(name);
        if (reader == readers.end()) throw py::type_error("'" + name + "' is not a keyword argument of an encoder");
        reader->second();
    }
}

}  // namespace tricodec::python
