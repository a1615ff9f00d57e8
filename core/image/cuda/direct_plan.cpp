// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/direct_plan.h"

#include <algorithm>
#include <map>

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

/// The rows of two outputs as ChromaRows has them; nothing if they are not two each, one shared, in whole quarters.
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
        // Where the crop begins or ends within a pair, nobody sees the other row.
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
    if (!doubles_from_left(plan.filters[2], plan.crop.left)) return std::nullopt;
    return pairs ? Chroma::half_pairs : Chroma::half_planes;
}

}  // namespace

int kernel_bits(const Plan& plan) {
    return plan.depth > 10 ? 16 : plan.depth;
}

std::optional<DirectPlan> make_direct(const Plan& plan, const std::function<bool(int)>& needed) {
    const Placement& at = plan.placement;
    const bool upright = at.column_per_x == 1 && at.row_per_y == 1;
    const bool is_16_bit = plan.dtype == DType::float16 || plan.dtype == DType::bfloat16;
    const bool channels = plan.layout == Layout::chw || (plan.layout == Layout::hwc && plan.color.num_channels != 2) ||
                          (is_16_bit && plan.color.num_channels == 3);  // padded: the whole kernel, or none
    const bool same_size = plan.filters[0].identity && plan.filters[1].identity;
    const bool depth = plan.depth == 8 || plan.depth >= 10;
    if (!upright || !channels || !same_size || !depth || !is_alone(plan, 0)) return std::nullopt;

    const bool has_chroma = plan.num_components == 3 && (needed(1) || needed(2));
    const auto chroma = chroma_of(plan, has_chroma);
    if (!chroma) return std::nullopt;

    DirectPlan direct;
    direct.args.crop_left = plan.crop.left;
    direct.args.crop_top = plan.crop.top;
    direct.args.first_y = -(plan.crop.top % 2);
    SamplesArgs& samples = direct.args.samples;
    samples.chroma = *chroma;
    samples.stored_up = plan.shift;
    samples.to_top = 16 - plan.depth - plan.shift;
    samples.mask = (0xFFFFU << (16 - plan.depth) & 0xFFFFU) * 0x10001U;
    const std::uint32_t neutral = 1U << (plan.depth - 1 + plan.shift);
    samples.neutral = plan.bytes_per_sample == 1 ? neutral * 0x01010101U : neutral * 0x10001U;
    samples.luma_begin = plan.filters[0].begin;
    samples.luma_end = plan.filters[0].end;
    if (has_chroma && plan.components[1].horizontal != 0) {
        samples.chroma_begin = plan.filters[2].begin;
        samples.chroma_end = plan.filters[2].end;
        auto rows = pairs_of_rows(plan.filters[3], kernel_bits(plan), direct.args.first_y);
        if (!rows) return std::nullopt;
        direct.chroma_rows = std::move(*rows);
    }
    direct.args.grid_width = plan.grid.width;
    direct.args.grid_height = plan.grid.height;
    for (std::size_t i = 0; i < 3; ++i) {
        direct.planes[i] = i < static_cast<std::size_t>(plan.num_components) ? plan.components[i].layout.plane : 0;
    }
    return direct;
}

}  // namespace tricodec::image::gpu
