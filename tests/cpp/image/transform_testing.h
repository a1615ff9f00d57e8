// SPDX-License-Identifier: Apache-2.0
// Frames of given samples, and what a Transform makes of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tricodec/image/transform.h"

namespace tricodec::testing {

using Bytes = std::vector<std::uint8_t>;

/// Sets samples (not words) of one component, row by row.
inline void set_component(Frame& frame, std::size_t component, const std::vector<int>& samples) {
    const PixelFormatInfo& format = info(frame.format);
    const ComponentLayout& layout = format.components[component];
    const int width = format.plane_width(layout.plane, frame.width);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const int x = static_cast<int>(i) % width;
        const int y = static_cast<int>(i) / width;
        const Plane& plane = frame.planes[layout.plane];
        std::byte* at = plane.data + y * plane.stride_bytes + x * layout.step_bytes + layout.offset_bytes;
        const auto word = static_cast<std::uint16_t>(samples[i] << format.shift);
        std::memcpy(at, &word, format.bytes_per_sample);
    }
}

inline Frame make_frame(PixelFormat format, int width, int height, const std::vector<std::vector<int>>& components) {
    Frame frame = alloc_frame(format, width, height);
    for (std::size_t i = 0; i < components.size(); ++i) set_component(frame, i, components[i]);
    return frame;
}

template <typename Value>
std::vector<Value> values_of(const Tensor& tensor) {
    const auto* first = static_cast<const Value*>(tensor.view.data);
    return {first, first + tensor.view.num_elements()};
}

inline Bytes run(const TransformOptions& options, const Frame& frame) {
    return values_of<std::uint8_t>(Transform(options)(frame));
}

}  // namespace tricodec::testing
