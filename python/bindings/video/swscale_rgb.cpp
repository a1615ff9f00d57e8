// SPDX-License-Identifier: Apache-2.0
#include "tricodec/swscale/swscale_rgb.h"

#include <pybind11/stl.h>

#include <string>

#include "arrays/export.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "video/frame_reader.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

SwscaleRgb make_converter(const std::string& dtype, const py::object& size, const py::sequence& steps, bool bilinear) {
    SwscaleOptions options;
    options.dtype = parse_dtype(dtype);
    options.bilinear = bilinear;
    if (!size.is_none()) {
        const auto numbers = to_ints(size, 2, "size", "(height, width)");
        options.size = Size{numbers[0], numbers[1]};
    }
    for (const py::object step : steps) {
        const auto numbers = step.cast<std::vector<int>>();
        TRICODEC_EXPECT(numbers.size() == 2 || numbers.size() == 4, invalid_argument,
                        "a step is (height, width) or (top, left, height, width), not " + shown(step));
        if (numbers.size() == 2) {
            options.steps.emplace_back(Size{numbers[0], numbers[1]});
        } else {
            options.steps.emplace_back(Crop{numbers[0], numbers[1], numbers[2], numbers[3]});
        }
    }
    return SwscaleRgb(std::move(options));
}

Tensor empty_for(const SwscaleRgb& convert, const Frame& frame, std::optional<std::int64_t> num_frames = {}) {
    const Size size = convert.output_size(frame.width, frame.height, frame.orientation);
    std::vector<std::int64_t> shape{size.height, size.width, 3};
    if (num_frames) shape.insert(shape.begin(), *num_frames);
    return Tensor::empty(shape, convert.options().dtype);
}

Tensor converted(const SwscaleRgb& convert, const Frame& frame) {
    Tensor result = empty_for(convert, frame);
    convert(frame, result.view);
    return result;
}

}  // namespace

py::array PyFrameReader::rgb_batch(const FrameRequest& request, const SwscaleRgb& convert) {
    return to_numpy(call([&](FrameReader& reader) {
        Tensor result;
        const auto start = [&](std::span<const SelectedFrames> frames) {
            const auto& numbers = frames.front().numbers;
            result = empty_for(convert, reader.geometry(numbers.empty() ? 0 : numbers.front()), std::ssize(numbers));
        };
        reader.each(request, {start, [&](std::int64_t slot, const Frame& frame) {
                                  const TensorView place = result.view[slot];
                                  const Size size = convert.output_size(frame.width, frame.height, frame.orientation);
                                  TRICODEC_EXPECT(place.shape[0] == size.height && place.shape[1] == size.width,
                                                  unsupported,
                                                  "frame " + std::to_string(frame.index) + " is " +
                                                      size_text(frame.width, frame.height) +
                                                      " and comes out in another shape than the frames before it; "
                                                      "read it alone");
                                  convert(frame, place);
                              }});
        return result;
    }));
}

py::tuple PyFrameReader::frame_times() {
    const auto times = call(&FrameReader::frame_times);
    const auto size = static_cast<py::ssize_t>(times.size());
    py::array_t<std::int64_t> pts(size);
    py::array_t<std::int64_t> durations(size);
    for (py::ssize_t i = 0; i < size; ++i) {
        pts.mutable_at(i) = times[static_cast<std::size_t>(i)].pts;
        durations.mutable_at(i) = times[static_cast<std::size_t>(i)].duration;
    }
    return py::make_tuple(pts, durations);
}

void bind_swscale_rgb(py::module_& module) {
    py::class_<SwscaleRgb> cls(
        module, "SwscaleRgb",
        R"(RGB by FFmpeg's libswscale, bit for bit that of ``ffmpeg -pix_fmt rgb24``, which torchcodec, decord and PyAV
give too.

Call it with a Frame, or pass it to ``FrameReader.batch`` in place of a Transform, which has another arithmetic.

Thread safety: safe.)");
    publish(cls, "tricodec.video");
    cls.def(py::init(&make_converter), py::kw_only(), py::arg("dtype") = "uint8", py::arg("size") = py::none(),
            py::arg("steps") = py::tuple(), py::arg("bilinear") = false,
            R"(Args:
    dtype: "uint8" (rgb24), "uint16" (rgb48) or "float32", which is rgb48 divided by 65535.
    size: (height, width) of the upright picture, resized while the colors are converted; None keeps it.
    steps: what is done with the upright RGB picture, in order: (height, width) resizes it, (top, left, height, width)
        crops it.
    bilinear: resize to `size` by bilinear interpolation; else bicubic.
Raises:
    ValueError: for options that are not accepted.
    UnsupportedError: in a build without libswscale.)")
        .def(
            "__call__",
            [](const SwscaleRgb& self, const Frame& frame) {
                Tensor result;
                {
                    const Unlocked unlocked;
                    result = converted(self, frame);
                }
                return to_numpy(std::move(result));
            },
            py::arg("frame"), "The frame as a new numpy array [H, W, 3].");
}

}  // namespace tricodec::python
