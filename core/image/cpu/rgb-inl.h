// SPDX-License-Identifier: Apache-2.0
// Section 10 of docs/reference/transform.md, RGB to YUV, by rows; compiled for each instruction set. All loops but the
// first are plain, and compilers vectorize them.
#if defined(TRICODEC_IMAGE_CPU_RGB_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_RGB_INL_H
#undef TRICODEC_IMAGE_CPU_RGB_INL_H
#else
#define TRICODEC_IMAGE_CPU_RGB_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "image/forward_plan.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A row of each component, 8-bit samples side by side.
using RgbRows = std::array<const std::uint8_t*, 3>;

/// Pixels of 3 or 4 bytes, the components in the order of memory, to rows of their own.
HWY_INLINE void split_pixels(const std::byte* pixels, int step_bytes, int width,
                             const std::array<std::uint8_t*, 3>& parts) {
    const hn::ScalableTag<std::uint8_t> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto* from = reinterpret_cast<const std::uint8_t*>(pixels);
    int x = 0;
    for (; x + lanes <= width; x += lanes) {
        hn::Vec<decltype(d)> a, b, c;
        if (step_bytes == 3) {
            hn::LoadInterleaved3(d, from + std::ptrdiff_t{3} * x, a, b, c);
        } else {
            hn::Vec<decltype(d)> unused;
            hn::LoadInterleaved4(d, from + std::ptrdiff_t{4} * x, a, b, c, unused);
        }
        hn::StoreU(a, d, parts[0] + x);
        hn::StoreU(b, d, parts[1] + x);
        hn::StoreU(c, d, parts[2] + x);
    }
    for (; x < width; ++x) {
        for (std::size_t i = 0; i < 3; ++i) parts[i][x] = from[std::ptrdiff_t{x} * step_bytes + static_cast<int>(i)];
    }
}

/// The rows of the picture that a row of chroma looks at, up to three, with their components apart.
class SplitRows {
public:
    explicit SplitRows(const RgbPicture& picture)
        : picture_(picture), store_(kSlots * 3 * static_cast<std::size_t>(picture.width)) {
        rows_.fill(-1);
    }

    /// Of the row `y`, or of the nearest one that is there.
    RgbRows get(int y) {
        y = std::clamp(y, 0, picture_.height - 1);
        const auto slot = static_cast<std::size_t>(y) % kSlots;
        const auto width = static_cast<std::size_t>(picture_.width);
        std::uint8_t* const part = store_.data() + slot * 3 * width;
        const auto at = [&](std::size_t c) { return picture_.first[c] + y * picture_.stride_bytes[c]; };
        if (picture_.step_bytes == 1) {
            const auto plane = [&](std::size_t c) { return reinterpret_cast<const std::uint8_t*>(at(c)); };
            return {plane(0), plane(1), plane(2)};
        }
        if (rows_[slot] != y) {
            const std::byte* const first = std::min({at(0), at(1), at(2)});
            std::array<std::uint8_t*, 3> ordered{};
            for (std::size_t c = 0; c < 3; ++c) ordered[static_cast<std::size_t>(at(c) - first)] = part + c * width;
            split_pixels(first, picture_.step_bytes, picture_.width, ordered);
            rows_[slot] = y;
        }
        return {part, part + width, part + 2 * width};
    }

private:
    static constexpr std::size_t kSlots = 4;
    const RgbPicture& picture_;
    std::vector<std::uint8_t> store_;
    std::array<int, kSlots> rows_{};
};

template <class Sample>
HWY_INLINE void luma_row(const ForwardPlan& plan, const RgbRows& rows, int width, Sample* HWY_RESTRICT out) {
    const auto [r, g, b] = plan.coefs[0];
    const std::int32_t bias = plan.luma_bias;
    const int shift = plan.luma_shift;
    const int largest = plan.largest;
    for (int x = 0; x < width; ++x) {
        const std::int32_t sum = bias + r * rows[0][x] + g * rows[1][x] + b * rows[2][x];
        out[x] = static_cast<Sample>(std::min(sum >> shift, largest));
    }
}

/// Sums of pixels down the columns, with a sample more before the first and after the last.
HWY_INLINE void down_row(const std::array<int, 3>& weight, const RgbRows& rows, int width,
                         std::uint16_t* HWY_RESTRICT sums) {
    const auto [a, b, c] = weight;
    for (int x = 0; x < width; ++x)
        sums[x] = static_cast<std::uint16_t>(a * rows[0][x] + b * rows[1][x] + c * rows[2][x]);
    sums[-1] = sums[0];
    sums[width] = sums[width + 1] = sums[width - 1];
}

/// Sums across, of weight 16.
HWY_INLINE void across_row(const ForwardPlan& plan, const std::uint16_t* sums, int num_chroma,
                           std::uint16_t* HWY_RESTRICT totals) {
    const auto [a, b, c] = plan.across.weight;
    const std::uint16_t* const from = sums + plan.across.first;
    if (plan.log2_chroma_w == 0) {
        for (int x = 0; x < num_chroma; ++x) totals[x] = static_cast<std::uint16_t>(a * from[x]);
        return;
    }
    for (int x = 0; x < num_chroma; ++x) {
        totals[x] = static_cast<std::uint16_t>(a * from[2 * x] + b * from[2 * x + 1] + c * from[2 * x + 2]);
    }
}

template <class Sample>
HWY_INLINE void chroma_row(const ForwardPlan& plan, std::size_t component,
                           const std::array<const std::uint16_t*, 3>& totals, int num_chroma,
                           Sample* HWY_RESTRICT out) {
    const auto [r, g, b] = plan.coefs[component];
    const std::int32_t bias = plan.chroma_bias;
    const int shift = plan.chroma_shift;
    const int largest = plan.largest;
    for (int x = 0; x < num_chroma; ++x) {
        const std::int32_t sum = bias + r * totals[0][x] + g * totals[1][x] + b * totals[2][x];
        out[x] = static_cast<Sample>(std::min(sum >> shift, largest));
    }
}

template <class Sample>
HWY_INLINE void convert_rows(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out) {
    const auto row_of = [&](std::size_t plane, int y) {
        return reinterpret_cast<Sample*>(out.planes[plane].data + y * out.planes[plane].stride_bytes);
    };
    const auto& format = info(out.format);
    const int num_chroma = format.plane_width(1, picture.width);
    const int chroma_rows = format.plane_height(1, picture.height);
    SplitRows split(picture);
    const auto length = static_cast<std::size_t>(picture.width) + 4;
    std::vector<std::uint16_t> sums(length);
    std::vector<std::uint16_t> totals(3 * length);
    int luma_done = 0;
    for (int yc = 0; yc < chroma_rows; ++yc) {
        const int luma_end = std::min((yc + 1) << plan.log2_chroma_h, picture.height);
        for (; luma_done < luma_end; ++luma_done) {
            luma_row(plan, split.get(luma_done), picture.width, row_of(0, luma_done));
        }
        const int y = (yc << plan.log2_chroma_h) + plan.down.first;
        const std::array<RgbRows, 3> rows = {split.get(y), split.get(plan.down.weight[1] == 0 ? y : y + 1),
                                             split.get(plan.down.weight[2] == 0 ? y : y + 2)};
        for (std::size_t c = 0; c < 3; ++c) {
            down_row(plan.down.weight, {rows[0][c], rows[1][c], rows[2][c]}, picture.width, sums.data() + 1);
            across_row(plan, sums.data() + 1, num_chroma, totals.data() + c * length);
        }
        for (std::size_t plane = 1; plane < 3; ++plane) {
            const std::uint16_t* const first = totals.data();
            chroma_row(plan, plane, {first, first + length, first + 2 * length}, num_chroma, row_of(plane, yc));
        }
    }
}

inline void rgb_to_yuv(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out) {
    plan.largest > 255 ? convert_rows<std::uint16_t>(plan, picture, out)
                       : convert_rows<std::uint8_t>(plan, picture, out);
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
