// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/whole_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "image/cuda/direct_kernel.h"
#include "image/cuda/direct_plan.h"
#include "image/cuda/launch_args.h"

namespace tricodec::image::gpu {
namespace {

/// Whether the rows of each pair are those that the kernel reckons. A weight of zero may belong to any row.
bool are_regular(const WholeArgs& args, const std::vector<ChromaRows>& rows, std::uint32_t unit) {
    const auto clamped = [&](int row) { return std::clamp(row, args.chroma_row_begin, args.chroma_row_end - 1); };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const int middle = args.chroma_first + static_cast<int>(i) * args.chroma_step;
        if (middle < args.chroma_row_begin || middle >= args.chroma_row_end) return false;
        const std::array<int, 3> expected{clamped(middle + args.chroma_above), middle, clamped(middle + 1)};
        const bool has_second = 2 * static_cast<int>(i) + 1 < args.grid_height;
        for (int second = 0; second < (has_second ? 2 : 1); ++second) {
            std::array<std::int64_t, 2> sums{};  // the weights of all rows, each row told apart by its number
            for (int k = 0; k < 2; ++k) {
                const auto place = static_cast<std::size_t>(second + k);
                const auto actual = static_cast<std::int64_t>(rows[i].weight[second][k]);
                const auto reckoned = static_cast<std::int64_t>(args.chroma_weight[second][k]) * unit;
                sums[0] += actual - reckoned;
                sums[1] += actual * rows[i].row[place] - reckoned * expected[place];
            }
            if (sums[0] != 0 || sums[1] != 0) return false;
        }
    }
    return true;
}

bool set_rows(WholeArgs& args, const Plan& plan, const std::vector<ChromaRows>& rows) {
    const Filter& vertical = plan.filters[3];
    args.chroma_row_begin = vertical.begin;
    args.chroma_row_end = vertical.end;
    const bool halves = info(plan.key.format).log2_chroma_h == 1;
    args.chroma_first = halves ? plan.crop.top / 2 : plan.crop.top;
    args.chroma_step = halves ? 1 : 2;
    args.chroma_above = halves ? -1 : 0;
    // Rows that have their own chroma share one that counts for nothing.
    const std::uint32_t middle = halves ? 3 : 0;
    const int bits = kernel_bits(plan);
    const std::uint32_t unit = bits == 16 ? chroma_unit(bits) : 1;
    for (int second = 0; second < 2; ++second) {
        args.chroma_weight[second][second] = (4 - middle) * unit;
        args.chroma_weight[second][1 - second] = middle * unit;
    }
    for (unsigned i = 0; i < 4; ++i) {
        args.chroma_dots.middle[i] = middle << (8 * i);
        args.chroma_dots.outer[i] = (4 - middle) << (8 * i);
    }
    return are_regular(args, rows, chroma_unit(bits) / unit);
}

/// What a unit of luma as RowSamples::raised() gives it is in P.
double luma_unit(const Plan& plan) {
    const int bits = kernel_bits(plan);
    return bits == 8 ? 64.0 : bits == 10 ? 0.25 : 1.0;
}

/// The same of HalfChroma::raised().
double chroma_unit_in_p(const Plan& plan) {
    const int bits = kernel_bits(plan);
    return bits == 8 ? 16.0 : bits == 10 ? 4.0 : 1.0;
}

/// A factor in a unit that is `times` as large.
float scaled(float factor, double times) {
    return static_cast<float>(factor * times);
}

void set_float_color(WholeColor& color, const Plan& plan, const std::array<int, 3>& channels) {
    const double even = chroma_unit_in_p(plan);
    const double odd = kernel_bits(plan) == 16 ? even : even / 2;  // a mean, or the sum of two columns
    for (std::size_t i = 0; i < 3; ++i) {
        const auto channel = static_cast<std::size_t>(channels[i]);
        color.luma[i] = scaled(plan.color.factor[channel][0], luma_unit(plan));
        for (std::size_t k = 0; k < 2; ++k) {
            color.chroma_even[i][k] = scaled(plan.color.factor[channel][k + 1], even);
            color.chroma_odd[i][k] = scaled(plan.color.factor[channel][k + 1], odd);
        }
        color.bias[i] = plan.color.bias[channel];
        color.low[i] = plan.color.low[channel];
        color.high[i] = plan.color.high[channel];
    }
}

/// Note [Bytes by floats].
bool set_byte_color(WholeColor& color, const Plan& plan, const std::array<int, 3>& channels) {
    if (plan.bytes_per_sample != 1) return false;
    const auto& luma = plan.color.fixed[0][0];
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& weights = plan.color.fixed[static_cast<std::size_t>(channels[i])];
        if (weights[0] != luma || weights[0] <= 0 || weights[0] >= 1 << 14) return false;
        if (std::abs(weights[1]) >= 1 << 15 || std::abs(weights[2]) >= 1 << 15) return false;
        if (i == 1 && std::abs(weights[1]) + std::abs(weights[2]) >= 1 << 14) return false;
        color.luma[i] = std::ldexp(static_cast<float>(weights[0]) * kFloorUnit, 149 - 13);
        for (std::size_t k = 0; k < 2; ++k) {
            color.chroma_even[i][k] = std::ldexp(static_cast<float>(weights[k + 1]) * kFloorUnit, -15);
            color.chroma_odd[i][k] = std::ldexp(static_cast<float>(weights[k + 1]) * kFloorUnit, -16);
        }
        const int offset = plan.color.offset[0] / 64;
        color.bias[i] = (0.5F - std::ldexp(static_cast<float>(weights[0] * offset), -13)) * kFloorUnit;
    }
    return true;
}

std::uint32_t bits_of(float value, DType dtype) {
    return (dtype == DType::float16 ? half_pair(value, 0.0F) : bfloat_pair(value, 0.0F)) & 0xFFFFU;
}

}  // namespace

std::optional<WholeArgs> make_whole(const Plan& plan, const DirectArgs& direct,
                                    const std::vector<ChromaRows>& chroma_rows) {
    const bool half = direct.samples.chroma == Chroma::half_pairs || direct.samples.chroma == Chroma::half_planes;
    const auto channels = half ? rgb_channels(plan) : std::nullopt;
    if (!channels || direct.first_y != 0) return std::nullopt;
    WholeArgs args{};
    args.samples = direct.samples;
    args.grid_width = direct.grid_width;
    args.grid_height = direct.grid_height;
    args.chroma_left = direct.crop_left / 2;
    if (!set_rows(args, plan, chroma_rows)) return std::nullopt;
    std::copy(channels->begin(), channels->end(), args.channel);
    // Offsets in the units of WholeColor: whole numbers.
    args.color.luma_zero = static_cast<float>(kTwo23 + plan.color.offset[0] / luma_unit(plan));
    args.color.chroma_zero = static_cast<float>(kTwo23 + plan.color.offset[1] / chroma_unit_in_p(plan));
    if (plan.color.offset[1] != plan.color.offset[2]) return std::nullopt;
    if (plan.dtype != DType::uint8) {
        set_float_color(args.color, plan, *channels);
    } else if (!set_byte_color(args.color, plan, *channels)) {
        return std::nullopt;
    }
    return args;
}

bool set_layout(WholeArgs& args, Layout layout, DType dtype) {
    // But for planes of their own the kernel writes red first.
    if (layout != Layout::chw && args.channel[0] != 0) return false;
    if (dtype != DType::float16 && dtype != DType::bfloat16) return true;
    for (int i = 0; i < 3; ++i) {
        const bool alone = layout == Layout::chw;
        const int first = alone ? i : 2 * i % 3;
        const int second = alone ? i : (2 * i + 1) % 3;
        const auto pair = [&](const float (&bounds)[3]) {
            return bits_of(bounds[first], dtype) | bits_of(bounds[second], dtype) << 16;
        };
        args.color.low_pair[i] = pair(args.color.low);
        args.color.high_pair[i] = pair(args.color.high);
    }
    return true;
}

}  // namespace tricodec::image::gpu
