// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "image/forward_plan.h"

namespace tricodec::image {
namespace {

template <class Pointer>
auto* samples(Pointer data, const Plane& plane, int y) {
    return reinterpret_cast<std::uint16_t*>(data + y * plane.stride_bytes);
}

const std::uint16_t* row_of(const Frame& frame, std::size_t plane, int y) {
    return samples(frame.planes[plane].data, frame.planes[plane], std::clamp(y, 0, frame.height - 1));
}

}  // namespace

void subsample_deep_chroma(const ForwardPlan& plan, const Frame& frame, const Frame& out) {
    const auto& format = info(out.format);
    for (int y = 0; y < frame.height; ++y) {
        std::memcpy(samples(out.planes[0].data, out.planes[0], y), row_of(frame, 0, y),
                    static_cast<std::size_t>(frame.width) * sizeof(std::uint16_t));
    }
    const int width = format.plane_width(1, out.width);
    const auto& across = plan.across.weight;
    // Sums down the columns, with the first and the last repeated where the taps reach beyond the picture.
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(frame.width) + 4);
    for (std::size_t c = 1; c < 3; ++c) {
        for (int y = 0; y < format.plane_height(1, out.height); ++y) {
            const int top = (y << plan.log2_chroma_h) + plan.down.first;
            const std::uint16_t* rows[3] = {row_of(frame, c, top), row_of(frame, c, top + 1),
                                            row_of(frame, c, top + 2)};
            auto* sum = sums.data() + 1;
            for (int x = 0; x < frame.width; ++x) {
                sum[x] =
                    static_cast<std::uint32_t>(plan.down.weight[0] * rows[0][x] + plan.down.weight[1] * rows[1][x] +
                                               plan.down.weight[2] * rows[2][x]);
            }
            sum[-1] = sum[0];
            sum[frame.width] = sum[frame.width + 1] = sum[frame.width + 2] = sum[frame.width - 1];
            auto* to = samples(out.planes[c].data, out.planes[c], y);
            for (int x = 0; x < width; ++x) {
                const auto* from = sum + (x << plan.log2_chroma_w) + plan.across.first;
                const auto total = static_cast<std::uint32_t>(across[0]) * from[0] +
                                   static_cast<std::uint32_t>(across[1]) * from[1] +
                                   static_cast<std::uint32_t>(across[2]) * from[2];
                to[x] = static_cast<std::uint16_t>((total + 8) >> 4);  // the weights add up to 16
            }
        }
    }
}

}  // namespace tricodec::image
