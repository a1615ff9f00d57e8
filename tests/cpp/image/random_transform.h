// SPDX-License-Identifier: Apache-2.0
// Random frames, options and outputs, with which engines are held to the oracle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "guarded_memory.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}
    int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
    bool one_in(int count) { return between(1, count) == 1; }
    template <typename Value>
    Value of(std::initializer_list<Value> values) {
        return *(values.begin() + between(0, static_cast<int>(values.size()) - 1));
    }

private:
    std::mt19937 engine_;
};

/// A frame with padding in the rows. Its planes end where their memory ends.
struct PaddedFrame {
    Frame frame;
    std::vector<Guarded> memory;
};

/// With `alignment`, rows and planes begin at multiples of it; otherwise anywhere.
inline PaddedFrame random_frame(PixelFormat name, int width, int height, Random& random, std::size_t alignment = 0) {
    const PixelFormatInfo& format = info(name);
    PaddedFrame result;
    result.frame.format = name;
    result.frame.width = width;
    result.frame.height = height;
    const int extremes = random.between(0, 3);  // some pictures of black and white only: the ends of every range
    const int top = (1 << format.depth) - 1;
    for (int i = 0; i < format.num_planes; ++i) {
        const auto row = static_cast<std::size_t>(format.row_bytes(i, width));
        const auto rows = static_cast<std::size_t>(format.plane_height(i, height));
        std::size_t stride = row + static_cast<std::size_t>(format.bytes_per_sample * random.between(0, 9));
        if (alignment != 0) stride = (stride + alignment - 1) / alignment * alignment;
        const std::size_t last_row = alignment != 0 ? stride : row;
        std::vector<std::uint8_t> bytes(stride * (rows - 1) + last_row, 0xA5);
        for (std::size_t y = 0; y < rows; ++y) {
            for (std::size_t x = 0; x < row; x += format.bytes_per_sample) {
                const int sample = extremes == 0 ? top * random.between(0, 1) : random.between(0, top);
                const auto word = static_cast<std::uint16_t>(sample << format.shift);
                std::memcpy(&bytes[y * stride + x], &word, format.bytes_per_sample);
            }
        }
        result.memory.emplace_back(bytes);
        auto& plane = result.frame.planes[static_cast<std::size_t>(i)];
        plane.data = reinterpret_cast<std::byte*>(result.memory.back().data());
        plane.stride_bytes = static_cast<std::ptrdiff_t>(stride);
    }
    return result;
}

inline TransformOptions random_options(const PixelFormatInfo& format, Frame& frame, Random& random) {
    TransformOptions options;
    frame.orientation = {random.one_in(3) ? 90 * random.between(0, 3) : 0, random.one_in(4)};
    frame.color.matrix = random.of({ColorMatrix::unspecified, ColorMatrix::bt709, ColorMatrix::fcc,
                                    ColorMatrix::bt470bg, ColorMatrix::smpte170m, ColorMatrix::smpte240m,
                                    ColorMatrix::ycgco, ColorMatrix::bt2020_ncl, ColorMatrix::rgb});
    frame.color.range = random.of({ColorRange::unspecified, ColorRange::limited, ColorRange::full});
    frame.color.chroma_location =
        random.of({ChromaLocation::unspecified, ChromaLocation::left, ChromaLocation::left, ChromaLocation::center,
                   ChromaLocation::topleft, ChromaLocation::top, ChromaLocation::bottomleft, ChromaLocation::bottom});
    int width = frame.width;
    int height = frame.height;
    if (frame.orientation.swaps_axes()) std::swap(width, height);
    if (random.one_in(3)) {
        Crop crop;
        crop.width = random.between(1, width);
        crop.height = random.between(1, height);
        crop.left = random.between(0, width - crop.width);
        crop.top = random.between(0, height - crop.height);
        options.crop = crop;
    }
    if (random.one_in(2)) options.size = Size{random.between(1, 130), random.between(1, 130)};
    options.resize = random.of({Resize::nearest, Resize::bilinear, Resize::bilinear, Resize::bicubic});
    options.antialias = !random.one_in(3);
    options.chroma = random.one_in(3) ? ChromaUpsampling::nearest : ChromaUpsampling::interpolated;
    options.color =
        random.of({OutputColor::rgb, OutputColor::rgb, OutputColor::bgr, OutputColor::gray, OutputColor::yuv});
    if (format.family == ColorFamily::rgb && options.color == OutputColor::yuv) options.color = OutputColor::rgb;
    options.dtype = random.of({DType::uint8, DType::uint8, DType::float16, DType::float32, DType::bfloat16});
    options.layout = random.of({Layout::hwc, Layout::chw, Layout::hwc, Layout::chw, Layout::chw2, Layout::hwc8});
    if (options.dtype != DType::uint8 && random.one_in(2)) {
        options.scale = random.of({1.0F, 1.0F / 255.0F, -3.5F, 1e-7F, 900.0F});
        options.mean = {0.485F, 0.456F, 0.406F};
        options.std = {0.229F, -0.224F, 0.225F};
        if (options.color == OutputColor::gray) {
            options.mean.resize(1);
            options.std.resize(1);
        }
    }
    return options;
}

/// Memory for an output in one of several arrangements, each with bytes around and between that must stay.
struct Canvas {
    static constexpr int kLast = 5;  ///< arrangements count from 0

    std::vector<std::uint8_t> bytes;
    TensorView view;

    Canvas(const Plan& plan, int arrangement) {
        const auto size = static_cast<std::int64_t>(size_of(plan.dtype));
        view.dtype = plan.dtype;
        view.shape = shape_of(plan.output, plan.color.num_channels, plan.layout);
        const std::size_t row_axis = plan.layout == Layout::chw || plan.layout == Layout::chw2 ? 1 : 0;
        view.strides_bytes.resize(view.shape.size());
        std::int64_t step = size;
        for (std::size_t axis = view.shape.size(); axis-- > 0;) {
            if (axis == row_axis + 1 && arrangement == 1) step += 3;         // between columns
            if (axis == row_axis && arrangement == 2) step += 5 * size;      // after rows
            if (axis + 1 == row_axis && arrangement == 2) step += 7;         // after planes
            if (axis == row_axis + 2 && arrangement == 4) step += 2 * size;  // between the elements of a column
            view.strides_bytes[axis] = step;
            step *= view.shape[axis];
        }
        guard = arrangement == 5 ? 64 : 67;  // memory that is aligned as an allocation is, or not at all
        bytes.assign(static_cast<std::size_t>(step + 2 * guard), 0x5C);
        view.data = bytes.data() + guard;
        if (arrangement == 3) {  // upside down
            view.data = bytes.data() + guard + (view.shape[row_axis] - 1) * view.strides_bytes[row_axis];
            view.strides_bytes[row_axis] = -view.strides_bytes[row_axis];
        }
    }

    std::int64_t guard = 0;
};

inline std::string text(const Frame& frame, const TransformOptions& options, int arrangement) {
    return std::string(to_string(frame.format)) + " " + std::to_string(frame.width) + "x" +
           std::to_string(frame.height) + " rotation " + std::to_string(frame.orientation.rotation_degrees) +
           (frame.orientation.mirrored ? " mirrored" : "") + " " + Transform(options).describe() + ", arrangement " +
           std::to_string(arrangement);
}

}  // namespace tricodec::image
