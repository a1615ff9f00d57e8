// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "image/forward_plan.h"
#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec::image {

/// Kernels read and write rows of their own in whole vectors: this much room after the last sample.
inline constexpr int kRgbPadding = 64;

/// One row of each component, 8-bit samples side by side.
using RgbRows = std::array<const std::uint8_t*, 3>;
/// Rows of sums of pixels down one column, 16-bit samples with one before the first and after the last.
using SumRows = std::array<const std::uint16_t*, 3>;

/// The kernels of one instruction set for docs/reference/transform.md section 10. Pictures have no room after their
/// rows: what is read of them and written to planes is exact.
struct RgbKernels {
    std::int64_t target = 0;  ///< Highway's bit, as Kernels::target
    /// Pixels of 3 or 4 bytes, the components in the order of memory, to rows of their own.
    void (*split)(const std::byte* pixels, int step_bytes, int width,
                  const std::array<std::uint8_t*, 3>& parts) = nullptr;
    void (*luma)(const ForwardPlan& plan, const RgbRows& rows, int width, std::byte* out) = nullptr;
    /// sums[x] = weight[0] * rows[0][x] + weight[1] * rows[1][x] + weight[2] * rows[2][x].
    void (*down)(const std::array<int, 3>& weight, const std::array<const std::uint8_t*, 3>& rows, int width,
                 std::uint16_t* sums) = nullptr;
    /// A row of U and one of V, of `num_chroma` samples.
    void (*chroma)(const ForwardPlan& plan, const SumRows& sums, int num_chroma, std::byte* u, std::byte* v) = nullptr;
};

/// Those compiled in that this machine can run, best first.
[[nodiscard]] std::span<const RgbKernels> supported_rgb_kernels();

/// What rgb_to_yuv_ref() makes, by kernels, a row after the other.
void rgb_to_yuv_cpu(const RgbKernels& kernels, const ForwardPlan& plan, const RgbPicture& picture, const Frame& out);

}  // namespace tricodec::image
