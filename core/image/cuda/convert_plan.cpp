// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <vector>

#include "image/cuda/kernel_plan.h"

namespace tricodec::image::gpu {
namespace {

constexpr int kQuarter = kCoefOne / 4;

std::map<int, int> taps_of(const Filter& filter, int output) {
    std::map<int, int> taps;
    for (int k = 0; k < filter.count[static_cast<std::size_t>(output)]; ++k) {
        taps[filter.first[static_cast<std::size_t>(output)] + k] = filter.taps(output)[k];
    }
    return taps;
}

/// Whether even luma columns have the chroma of their own column and odd ones the mean of two, the last one repeated.
bool doubles_from_left(const Filter& filter, int crop_left) {
    for (int i = 0; i < filter.num_outputs; ++i) {
        const int column = crop_left + i;
        std::map<int, int> expected;
        expected[column / 2] += kCoefOne / 2;
        expected[std::min((column + 1) / 2, filter.end - 1)] += kCoefOne / 2;
        if (taps_of(filter, i) != expected) return false;
    }
    return true;
}

/// Whether each column has the chroma sample that covers it, of two columns, and each row that of one or two rows: then
/// log2 of the rows.
std::optional<int> repeats_samples(const Plan& plan) {
    const auto covers = [](const Filter& filter, int crop_start, int log2) {
        if (filter.max_taps != 1) return false;
        for (int i = 0; i < filter.num_outputs; ++i) {
            if (filter.first[static_cast<std::size_t>(i)] != (crop_start + i) >> log2) return false;
        }
        return true;
    };
    if (!covers(plan.filters[2], plan.crop.left, 1)) return std::nullopt;
    for (const int log2 : {0, 1}) {
        if (covers(plan.filters[3], plan.crop.top, log2)) return log2;
    }
    return std::nullopt;
}

/// The rows of two outputs for ChromaRows; nothing unless each has at most two in integer quarters, one of them shared.
std::optional<ChromaRows> share_rows(const std::map<int, int>& first, const std::map<int, int>& second, int bits) {
    const auto others = [](const std::map<int, int>& taps, int number) { return taps.size() - taps.count(number); };
    std::map<int, int> all = first;
    all.insert(second.begin(), second.end());
    for (const auto& [shared, unused] : all) {
        if (others(first, shared) > 1 || others(second, shared) > 1) continue;
        ChromaRows rows{};
        std::fill(std::begin(rows.row), std::end(rows.row), shared);
        for (const bool is_second : {false, true}) {
            for (const auto& [number, coef] : is_second ? second : first) {
                if (coef < 0 || coef % kQuarter != 0) return std::nullopt;
                const int place = number == shared ? 1 : is_second ? 2 : 0;
                rows.row[place] = number;
                rows.weight[is_second ? 1 : 0][is_second ? place - 1 : place] =
                    static_cast<std::uint32_t>(coef / kQuarter) * chroma_unit(bits);
            }
        }
        return rows;
    }
    return std::nullopt;
}

/// The rows of each pair of outputs, the first of which is an even luma row.
std::optional<std::vector<ChromaRows>> pairs_of_rows(const Filter& filter, int bits, int first_y) {
    std::vector<ChromaRows> pairs;
    for (int y = first_y; y < filter.num_outputs; y += 2) {
        // If the crop begins or ends within a pair, the other row is not stored.
        const auto pair =
            share_rows(taps_of(filter, std::max(y, 0)), taps_of(filter, std::min(y + 1, filter.num_outputs - 1)), bits);
        if (!pair) return std::nullopt;
        pairs.push_back(*pair);
    }
    return pairs;
}

/// Whether component `i` has its own plane, or is the given one of two side by side.
bool is_alone(const Plan& plan, std::size_t i) {
    const ComponentLayout& layout = plan.components[i].layout;
    return layout.step_bytes == plan.bytes_per_sample && layout.offset_bytes == 0;
}

bool are_pairs(const Plan& plan) {
    const ComponentLayout& first = plan.components[1].layout;
    const ComponentLayout& second = plan.components[2].layout;
    return first.plane == second.plane && first.step_bytes == 2 * plan.bytes_per_sample &&
           second.step_bytes == first.step_bytes && first.offset_bytes == 0 &&
           second.offset_bytes == plan.bytes_per_sample;
}

std::optional<Chroma> chroma_of(const Plan& plan, bool needed) {
    if (!needed) return Chroma::none;
    const bool pairs = are_pairs(plan);
    if (!pairs && !(is_alone(plan, 1) && is_alone(plan, 2))) return std::nullopt;
    if (plan.components[1].horizontal == 0) return pairs ? Chroma::full_pairs : Chroma::full_planes;
    if (repeats_samples(plan)) return pairs ? Chroma::repeated_pairs : Chroma::repeated_planes;
    if (!doubles_from_left(plan.filters[2], plan.crop.left)) return std::nullopt;
    return pairs ? Chroma::half_pairs : Chroma::half_planes;
}

int num_planes(Chroma chroma) {
    const bool pairs = chroma == Chroma::half_pairs || chroma == Chroma::full_pairs || chroma == Chroma::repeated_pairs;
    return chroma == Chroma::none ? 1 : pairs ? 2 : 3;
}

SamplesArgs samples_args(const Plan& plan, Chroma chroma) {
    const bool is_half_as_wide =
        chroma != Chroma::none && chroma != Chroma::full_pairs && chroma != Chroma::full_planes;
    const std::uint32_t neutral = 1U << (plan.depth - 1 + plan.shift);
    SamplesArgs samples{};
    samples.chroma = chroma;
    samples.to_top = 16 - plan.depth - plan.shift;
    samples.mask = (0xFFFFU << (16 - plan.depth) & 0xFFFFU) * 0x10001U;
    samples.neutral = plan.bytes_per_sample == 1 ? neutral * 0x01010101U : neutral * 0x10001U;
    samples.luma_begin = plan.filters[0].begin;
    samples.luma_end = plan.filters[0].end;
    samples.chroma_begin = is_half_as_wide ? plan.filters[2].begin : 0;
    samples.chroma_end = is_half_as_wide ? plan.filters[2].end : 0;
    if (chroma == Chroma::repeated_pairs || chroma == Chroma::repeated_planes) {
        samples.log2_repeated_rows = *repeats_samples(plan);
    }
    return samples;
}

/// Integer weights for multiples of P: with 8 bits of P in quarters, or in halves for what half chroma needs.
ConvertColor convert_color(const ColorPlan& plan, const ColorArgs& color, int bits, bool has_half_chroma) {
    ConvertColor convert{};
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const auto& weights = plan.fixed[channel];
        convert.luma_2p[channel] = weights[0] * 128;
        convert.luma_4p[channel] = weights[0] * (bits == 8 ? 256 : 1);
        for (std::size_t i = 0; i < 2; ++i) {
            convert.chroma[channel][i] = weights[i + 1] * (has_half_chroma || bits != 8 ? 1 : 256);
        }
        convert.bias[channel] = color.fixed_bias[channel] * (bits == 16 ? 1 : has_half_chroma ? 2 : 4);
    }
    return convert;
}

/// The end of a kernel's name.
const char* chroma_name(Chroma chroma, int num_channels) {
    switch (chroma) {
        case Chroma::half_pairs:
            return "_pairs";
        case Chroma::half_planes:
            return "_planes";
        case Chroma::none:
            return num_channels == 1 ? "_gray" : "_full";
        default:
            return "_full";
    }
}

}  // namespace

std::optional<ConvertPlan> ConvertPlan::make(const Plan& plan, Tables& tables) {
    const Placement& at = plan.placement;
    const bool upright = at.column_per_x == 1 && at.row_per_y == 1;
    const bool layout = plan.layout == Layout::chw || (plan.layout == Layout::hwc && plan.color.num_channels != 2);
    const bool same_size = plan.filters[0].identity && plan.filters[1].identity;
    if (!upright || !layout || !same_size || !is_alone(plan, 0)) return std::nullopt;

    const bool has_chroma = plan.num_components == 3 && (plan.uses(1) || plan.uses(2));
    const auto chroma = chroma_of(plan, has_chroma);
    if (!chroma) return std::nullopt;
    const bool has_half_chroma = *chroma == Chroma::half_pairs || *chroma == Chroma::half_planes;
    const int bits = plan.bytes_per_sample == 1 ? 8 : 16;

    ConvertPlan made;
    ConvertArgs& args = made.args_;
    args.samples = samples_args(plan, *chroma);
    args.crop_left = plan.crop.left;
    args.crop_top = plan.crop.top;
    args.first_y = -(plan.crop.top % 2);
    if (has_half_chroma) {
        const auto rows = pairs_of_rows(plan.filters[3], bits, args.first_y);
        if (!rows) return std::nullopt;
        made.chroma_rows_ = tables.add(*rows);
    }
    args.grid_width = plan.grid.width;
    args.grid_height = plan.grid.height;
    args.color = color_args(plan.color);
    args.convert_color = convert_color(plan.color, args.color, bits, has_half_chroma);
    for (std::size_t i = 0; i < 3; ++i) {
        made.of_frame_[i] = i < static_cast<std::size_t>(plan.num_components) ? plan.components[i].layout.plane : 0;
    }
    made.num_planes_ = num_planes(*chroma);
    made.chroma_name_ = chroma_name(*chroma, plan.color.num_channels);
    return made;
}

std::optional<Launch> ConvertPlan::launch(const Batch& batch) const {
    Launch launch;
    ConvertArgs& args = launch.args.emplace<ConvertArgs>(args_);
    args.output = output_args(batch.plan, batch.items[0].target);
    if (!has_dense_rows(args.output)) return std::nullopt;
    args.chroma_rows = table_at<ChromaRows>(batch.tables, chroma_rows_);
    const std::span<FrameArgs> frames(args.frames, batch.items.size());
    args.samples.aligned = 1;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        frames[i] = frame_args(batch.items[i], of_frame_, num_planes_);
        if (!has_aligned_planes(frames[i], num_planes_)) args.samples.aligned = 0;
    }
    args.aligned = has_aligned_groups(args.output, frames, 16) ? 1 : 0;
    const int pixels = 16 / args.output.element_bytes;
    args.first_x = -(args.crop_left % pixels);
    args.full_width = args.first_x == 0 && args.grid_width % pixels == 0 ? 1 : 0;
    launch.kernel = kernel_name("convert", batch.plan) + chroma_name_;
    launch.blocks_x = blocks(args.grid_width - args.first_x, 32 * pixels);
    launch.blocks_y = blocks(args.grid_height - args.first_y, kConvertWarps * kConvertRows);
    launch.blocks_z = static_cast<unsigned>(frames.size());
    launch.threads = 32 * kConvertWarps;
    return launch;
}

}  // namespace tricodec::image::gpu
