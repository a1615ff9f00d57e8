// SPDX-License-Identifier: Apache-2.0
#include "image/forward_plan.h"

#include <cmath>

#include "image/color_matrix.h"
#include "tricodec/base/error.h"

namespace tricodec::image {
namespace {

ChromaTaps taps_for(int log2_subsampling, Site site) noexcept {
    if (log2_subsampling == 0) return {};
    if (site == Site::middle) return {0, {2, 2, 0}};
    return {site == Site::left ? -1 : 0, {1, 2, 1}};
}

/// All but the coefficients. `black` is luma's, `neutral` chroma's, in 8-bit units.
ForwardPlan plan_around(const PixelFormatInfo& format, ChromaLocation location, int black, int neutral) {
    TRICODEC_INVARIANT(format.family == ColorFamily::yuv && format.num_planes == 3 && format.depth <= 12 &&
                       format.shift == 0 && format.log2_chroma_w <= 1 && format.log2_chroma_h <= 1);
    ForwardPlan plan;
    // Q14 of 8-bit units for luma; chroma sums carry weights of 16 as well.
    plan.luma_shift = 22 - format.depth;
    plan.luma_bias = (black << 14) + (1 << (plan.luma_shift - 1));
    plan.chroma_shift = 26 - format.depth;
    plan.chroma_bias = (neutral << 18) + (1 << (plan.chroma_shift - 1));
    plan.largest = (1 << format.depth) - 1;
    plan.log2_chroma_w = format.log2_chroma_w;
    plan.log2_chroma_h = format.log2_chroma_h;
    plan.across = taps_for(format.log2_chroma_w, site_across(location));
    plan.down = taps_for(format.log2_chroma_h, site_down(location));
    return plan;
}

}  // namespace

Site site_across(ChromaLocation location) noexcept {
    const bool middle =
        location == ChromaLocation::center || location == ChromaLocation::top || location == ChromaLocation::bottom;
    return middle ? Site::middle : Site::left;
}

Site site_down(ChromaLocation location) noexcept {
    if (location == ChromaLocation::topleft || location == ChromaLocation::top) return Site::left;
    if (location == ChromaLocation::bottomleft || location == ChromaLocation::bottom) return Site::right;
    return Site::middle;
}

ForwardPlan make_chroma_plan(const PixelFormatInfo& format, ChromaLocation location) {
    ForwardPlan plan = plan_around(format, location, 0, 0);
    for (std::size_t i = 0; i < 3; ++i) plan.coefs[i][i] = 16384;
    return plan;
}

ForwardPlan make_forward_plan(const PixelFormatInfo& format, const ColorDescription& color) {
    const LumaWeights k = expected_weights(color.matrix);
    const double green = 1.0 - k.red - k.blue;
    const bool limited = color.range == ColorRange::limited;
    const double full = static_cast<double>((1 << format.depth) - 1) / static_cast<double>(1 << (format.depth - 8));
    const double luma = (limited ? 219.0 : full) / 255.0;
    const double chroma = (limited ? 224.0 : full) / 255.0;
    const double u = chroma / (2.0 * (1.0 - k.blue));
    const double v = chroma / (2.0 * (1.0 - k.red));
    const std::array<std::array<double, 3>, 3> rows = {{{k.red * luma, green * luma, k.blue * luma},
                                                        {-k.red * u, -green * u, (1.0 - k.blue) * u},
                                                        {(1.0 - k.red) * v, -green * v, -k.blue * v}}};
    ForwardPlan plan = plan_around(format, color.chroma_location, limited ? 16 : 0, 128);
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t component = 0; component < 3; ++component) {
            plan.coefs[row][component] = static_cast<std::int16_t>(std::floor(rows[row][component] * 16384.0 + 0.5));
        }
    }
    return plan;
}

}  // namespace tricodec::image
