// SPDX-License-Identifier: Apache-2.0
#include "encoder_input.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "convert.h"
#include "destination.h"
#include "gil.h"
#include "tricodec/buffer.h"
#include "tricodec/error.h"
#include "tricodec/frame.h"
#include "tricodec/rgb_to_yuv.h"

namespace tricodec::python {
namespace {

/// Four bytes a pixel, or planes in another order: no format of a frame.
enum class Special { none, bgra, rgba, yv12, rgbp };

struct InputFormat {
    std::string_view word;  ///< upper case
    PixelFormat format = PixelFormat::unknown;
    Special special = Special::none;
};

/// NVENC's words mean little-endian words: ARGB lies in memory as B, G, R, A. Words of 16 bits have the sample in the
/// high ones; what is below the tenth is not encoded.
constexpr std::array<InputFormat, 22> kWords = {{
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
    std::string word = name;
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const auto& known : kWords) {
        if (known.word == word) return known;
    }
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const auto& known : all_pixel_formats()) {
        if (known.name == lower && known.format != PixelFormat::unknown) return {known.name, known.format};
    }
    std::string accepted;
    for (const auto& known : kWords) accepted += (accepted.empty() ? "" : ", ") + std::string(known.word);
    throw py::value_error("format '" + name + "' is no layout of pictures; accepted are FFmpeg's names (" +
                          "pixel_formats()) and " + accepted);
}

/// By the shape, where the caller named no format.
InputFormat guess_format(const py::array& array, const EncoderOptions& encoder) {
    const auto axes = array.ndim();
    if (axes == 3 && array.shape(2) == 3) return {"RGB24", PixelFormat::rgb24};
    if (axes == 2 && array.shape(0) == encoder.height && array.shape(1) == encoder.width) {
        return {"GRAY", PixelFormat::gray};
    }
    return {to_string(encoder.format), encoder.format};
}

py::array as_array(const py::object& picture) {
    auto array = py::array::ensure(picture);
    if (!array) {
        PyErr_Clear();
        throw py::type_error("a picture must be a tricodec.Frame or an array, not " + shown(picture));
    }
    return array;
}

/// The array's bytes one after another: its own memory where it can be.
py::array packed_array(const py::array& array, std::int64_t size_bytes, int bytes_per_sample, const InputFormat& format,
                       const EncoderOptions& encoder) {
    const bool integers = array.dtype().kind() == 'u' &&
                          (array.itemsize() == bytes_per_sample || (array.itemsize() == 1 && array.ndim() == 1));
    if (!integers) {
        throw py::type_error("the picture has dtype " + py::str(array.dtype()).cast<std::string>() + "; " +
                             std::string(format.word) + " holds " + (bytes_per_sample == 1 ? "uint8" : "uint16"));
    }
    if (array.nbytes() != size_bytes) {
        throw py::value_error("the picture has shape " + shape_text({array.shape(), array.shape() + array.ndim()}) +
                              ", " + std::to_string(array.nbytes()) + " bytes; " + std::string(format.word) + " of " +
                              std::to_string(encoder.width) + "x" + std::to_string(encoder.height) + " has " +
                              std::to_string(size_bytes));
    }
    return py::module_::import("numpy").attr("ascontiguousarray")(array).cast<py::array>();
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

std::int64_t bytes_of(const InputFormat& format, const EncoderOptions& encoder) {
    const std::int64_t area = std::int64_t{encoder.width} * encoder.height;
    if (format.special == Special::bgra || format.special == Special::rgba) return area * 4;
    if (format.special == Special::rgbp) return area * 3;
    return info(format.format).packed_bytes(encoder.width, encoder.height);
}

/// An array on a GPU: a frame there, or for RGB of four bytes a converted one in host memory.
Frame frame_on_gpu(Destination array, const std::string& format, const EncoderOptions& encoder) {
    const InputFormat named =
        format.empty() ? InputFormat{to_string(encoder.format), encoder.format} : find_format(format);
    const auto size = bytes_of(named, encoder);
    const TensorView view = array.view;
    if (view.num_elements() * static_cast<std::int64_t>(size_of(view.dtype)) != size || !view.is_contiguous()) {
        throw py::value_error("the picture is " + describe(view) + "; " + std::string(named.word) + " of " +
                              std::to_string(encoder.width) + "x" + std::to_string(encoder.height) + " has " +
                              std::to_string(size) + " bytes one after another");
    }
    const auto stream = array.stream;
    // Dropping an export runs code of Python's: with the lock, whichever thread it is on.
    std::shared_ptr<const void> owner(array.held.get(), [held = array.held](const void*) mutable {
        with_lock([&] {
            held.reset();
            return 0;
        });
    });
    array.held.reset();
    auto* data = static_cast<std::byte*>(view.data);
    const auto over = [&](PixelFormat layout, int width, int height) {
        Frame frame = frame_over(layout, width, height, data, owner);
        frame.device = view.device;
        frame.buffer = Buffer::borrow(data, static_cast<std::size_t>(size), owner, view.device, stream);
        return frame;
    };
    Unlocked unlocked;
    if (named.format == PixelFormat::unknown) {
        const bool planes = named.special == Special::rgbp;
        const Frame host =
            to_host(over(PixelFormat::gray, encoder.width * (planes ? 1 : 4), encoder.height * (planes ? 3 : 1)));
        return convert_rgb(host.planes[0].data, named.special, encoder);
    }
    Frame frame = over(named.format, encoder.width, encoder.height);
    if (named.special == Special::yv12) std::swap(frame.planes[1], frame.planes[2]);
    return frame;
}

}  // namespace

Frame to_encoder_input(const py::object& picture, const std::string& format, const EncoderOptions& encoder) {
    if (py::isinstance<Frame>(picture)) return picture.cast<Frame>();
    if (auto there = find_on_gpu(picture)) return frame_on_gpu(*std::move(there), format, encoder);
    const py::array array = as_array(picture);
    const InputFormat named = format.empty() ? guess_format(array, encoder) : find_format(format);
    const std::int64_t size = bytes_of(named, encoder);
    const int sample = named.format == PixelFormat::unknown ? 1 : info(named.format).bytes_per_sample;
    const py::array packed = packed_array(array, size, sample, named, encoder);
    // The pixels are only read.
    auto* data = static_cast<std::byte*>(const_cast<void*>(packed.data()));
    if (named.format == PixelFormat::unknown) {
        Unlocked unlocked;
        return convert_rgb(data, named.special, encoder);
    }
    Frame frame = frame_over(named.format, encoder.width, encoder.height, data, share_object(packed));
    if (named.special == Special::yv12) std::swap(frame.planes[1], frame.planes[2]);
    return frame;
}

std::int64_t picture_bytes(const std::string& format, int width, int height) {
    if (width < 1 || height < 1) {
        throw py::value_error("pictures of " + std::to_string(width) + "x" + std::to_string(height) + " have no size");
    }
    EncoderOptions size;
    size.width = width;
    size.height = height;
    return bytes_of(find_format(format), size);
}

py::tuple input_formats() {
    py::list words;
    for (const auto& known : kWords) words.append(std::string(known.word));
    return py::tuple(words);
}

}  // namespace tricodec::python
