// SPDX-License-Identifier: Apache-2.0
#include "image/plan.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

#include "image/forward_plan.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec::image {
namespace {

/// A rectangle of the upright picture, seen in the source's orientation.
Crop to_source(const Crop& upright, const FrameKey& key) {
    Crop source = upright;  // of the mirrored source, which the rotation turns
    if (key.orientation.swaps_axes()) std::swap(source.width, source.height);
    switch (key.orientation.rotation_degrees) {
        case 90:  // a column of the upright picture, from the right, is a row of the source
            source.left = upright.top;
            source.top = key.height - (upright.left + upright.width);
            break;
        case 180:
            source.left = key.width - (upright.left + upright.width);
            source.top = key.height - (upright.top + upright.height);
            break;
        case 270:
            source.left = key.width - (upright.top + upright.height);
            source.top = upright.left;
            break;
        default:
            break;
    }
    if (key.orientation.mirrored) source.left = key.width - (source.left + source.width);
    return source;
}

/// Undoes to_source for points of the output: the source's grid, mirrored, then turned clockwise.
Placement place(const Size& grid, const Orientation& orientation) {
    const int mirror_0 = orientation.mirrored ? grid.width - 1 : 0;
    const int mirror_x = orientation.mirrored ? -1 : 1;
    switch (orientation.rotation_degrees) {
        case 90:
            return {grid.height - 1, 0, -1, mirror_0, mirror_x, 0};
        case 180:
            return {grid.width - 1 - mirror_0, -mirror_x, 0, grid.height - 1, 0, -1};
        case 270:
            return {0, 0, 1, grid.width - 1 - mirror_0, -mirror_x, 0};
        default:
            return {mirror_0, mirror_x, 0, 0, 0, 1};
    }
}

struct ChromaPosition {
    double x = 0;  // luma coordinate of the first chroma sample
    double y = 0;
};

ChromaPosition chroma_position(ChromaLocation location, const PixelFormatInfo& format) {
    const auto place = [](Site site, int log2) { return static_cast<int>(site) * ((1 << log2) - 1) / 2.0; };
    return {place(site_across(location), format.log2_chroma_w), place(site_down(location), format.log2_chroma_h)};
}

void add_filters(Plan& plan, const PixelFormatInfo& format, const TransformOptions& options) {
    const auto add = [&](int log2_w, int log2_h, ChromaPosition position) {
        const AxisGeometry horizontal{plan.crop.left, plan.crop.width, plan.grid.width, log2_w, position.x};
        const AxisGeometry vertical{plan.crop.top, plan.crop.height, plan.grid.height, log2_h, position.y};
        plan.filters.push_back(make_filter(horizontal, options.resize, options.antialias));
        plan.filters.push_back(make_filter(vertical, options.resize, options.antialias));
    };
    add(0, 0, {});
    const bool subsampled = format.log2_chroma_w != 0 || format.log2_chroma_h != 0;
    if (subsampled && options.chroma == ChromaUpsampling::nearest) {
        plan.filters.push_back(of_repeated_samples(plan.filters[0], format.log2_chroma_w));
        plan.filters.push_back(of_repeated_samples(plan.filters[1], format.log2_chroma_h));
    } else if (subsampled) {
        add(format.log2_chroma_w, format.log2_chroma_h, chroma_position(plan.key.chroma_location, format));
    }
    plan.num_components = format.num_components;
    for (int i = 0; i < plan.num_components; ++i) {
        const int filter = subsampled && i > 0 ? 2 : 0;
        plan.components[static_cast<std::size_t>(i)] = {format.components[static_cast<std::size_t>(i)], filter,
                                                        filter + 1};
    }
}

Normalization normalization(const TransformOptions& options) {
    Normalization norm;
    norm.scale = options.scale.value_or(1.0F / 255.0F);
    const auto fill = [](std::array<float, 3>& channels, const std::vector<float>& given) {
        if (given.empty()) return;
        for (std::size_t i = 0; i < channels.size(); ++i) channels[i] = given[i < given.size() ? i : given.size() - 1];
    };
    fill(norm.mean, options.mean);
    fill(norm.std, options.std);
    return norm;
}

}  // namespace

bool Plan::uses(std::size_t component) const noexcept {
    return std::ranges::any_of(std::views::iota(0, color.num_channels), [&](int channel) {
        const auto row = static_cast<std::size_t>(channel);
        return dtype == DType::uint8 ? color.fixed[row][component] != 0 : color.factor[row][component] != 0.0F;
    });
}

FrameKey frame_key(const Frame& frame, const TransformOptions& options) {
    return {frame.format,
            frame.width,
            frame.height,
            options.rotate ? frame.orientation : Orientation{},
            frame.color.matrix,
            frame.color.range,
            frame.color.chroma_location};
}

UprightGeometry upright_geometry(int width, int height, Orientation orientation, const TransformOptions& options) {
    TRICODEC_EXPECT(width >= 1 && height >= 1, invalid_argument,
                    "transform: a picture of " + size_text(width, height) + " has no pixels");
    const int degrees = orientation.rotation_degrees;
    TRICODEC_EXPECT(degrees == 0 || degrees == 90 || degrees == 180 || degrees == 270, invalid_argument,
                    "transform: rotation " + std::to_string(degrees) + " is not one of 0, 90, 180, 270 degrees");
    if (options.rotate && orientation.swaps_axes()) std::swap(width, height);
    const Crop crop = options.crop.value_or(Crop{0, 0, height, width});
    const bool inside = std::int64_t{crop.left} + crop.width <= width && std::int64_t{crop.top} + crop.height <= height;
    TRICODEC_EXPECT(inside, invalid_argument,
                    "transform: crop (top " + std::to_string(crop.top) + ", left " + std::to_string(crop.left) +
                        ", height " + std::to_string(crop.height) + ", width " + std::to_string(crop.width) +
                        ") does not lie inside the picture, which is " + std::to_string(width) + " wide and " +
                        std::to_string(height) + " high" +
                        (options.rotate && orientation.swaps_axes() ? " when upright" : ""));
    return {crop, options.size.value_or(Size{crop.height, crop.width})};
}

Plan make_plan(const FrameKey& key, const TransformOptions& options) {
    const PixelFormatInfo& format = info(key.format);
    const UprightGeometry upright = upright_geometry(key.width, key.height, key.orientation, options);

    Plan plan;
    plan.key = key;
    plan.crop = to_source(upright.crop, key);
    plan.output = upright.output;
    plan.grid = upright.output;
    if (key.orientation.swaps_axes()) std::swap(plan.grid.width, plan.grid.height);
    plan.placement = place(plan.grid, key.orientation);
    plan.depth = format.depth;
    plan.shift = format.shift;
    plan.bytes_per_sample = format.bytes_per_sample;
    plan.dtype = options.dtype;
    plan.layout = options.layout;

    ColorDescription described;
    described.matrix = key.matrix;
    described.range = key.range;
    plan.color =
        make_color_plan(resolve_color(format, described, key.height, options), options.color, normalization(options));
    add_filters(plan, format, options);
    return plan;
}

}  // namespace tricodec::image
