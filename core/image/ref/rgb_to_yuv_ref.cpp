// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "image/forward_plan.h"

namespace tricodec::image {
namespace {

int pixel(const RgbPicture& picture, std::size_t component, int x, int y) {
    x = std::clamp(x, 0, picture.width - 1);
    y = std::clamp(y, 0, picture.height - 1);
    return std::to_integer<int>(
        picture.first[component][y * picture.stride_bytes[component] + std::ptrdiff_t{x} * picture.step_bytes]);
}

void store(const Frame& out, int plane, int x, int y, int value) {
    std::byte* row =
        out.planes[static_cast<std::size_t>(plane)].data + y * out.planes[static_cast<std::size_t>(plane)].stride_bytes;
    if (info(out.format).bytes_per_sample == 1) {
        row[x] = static_cast<std::byte>(value);
    } else {
        const auto wide = static_cast<std::uint16_t>(value);
        std::memcpy(row + std::ptrdiff_t{2} * x, &wide, 2);
    }
}

}  // namespace

void rgb_to_yuv_ref(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out) {
    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            int sum = plan.luma_bias;
            for (std::size_t c = 0; c < 3; ++c) sum += plan.coefs[0][c] * pixel(picture, c, x, y);
            store(out, 0, x, y, std::min(sum >> plan.luma_shift, plan.largest));
        }
    }
    const auto& format = info(out.format);
    for (int yc = 0; yc < format.plane_height(1, picture.height); ++yc) {
        for (int xc = 0; xc < format.plane_width(1, picture.width); ++xc) {
            const int x = (xc << plan.log2_chroma_w) + plan.across.first;
            const int y = (yc << plan.log2_chroma_h) + plan.down.first;
            std::array<int, 3> total{};
            for (int j = 0; j < 3; ++j) {
                for (int i = 0; i < 3; ++i) {
                    const int weight =
                        plan.down.weight[static_cast<std::size_t>(j)] * plan.across.weight[static_cast<std::size_t>(i)];
                    for (std::size_t c = 0; c < 3; ++c) total[c] += weight * pixel(picture, c, x + i, y + j);
                }
            }
            for (int plane = 1; plane < 3; ++plane) {
                int sum = plan.chroma_bias;
                for (std::size_t c = 0; c < 3; ++c) sum += plan.coefs[static_cast<std::size_t>(plane)][c] * total[c];
                store(out, plane, xc, yc, std::min(sum >> plan.chroma_shift, plan.largest));
            }
        }
    }
}

}  // namespace tricodec::image
