// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/period_plan.h"

#include <algorithm>
#include <array>

#include "image/cuda/half_pairs.h"
#include "image/cuda/launch_args.h"

namespace tricodec::image::gpu {
namespace {

/// Where a unit's points find their columns.
struct Period1d {
    int columns;  ///< a unit's
    int phases;
    int (*first)(int point);
    int (*taps)(int point);
};

using Taps = std::array<std::int32_t, kMaxPeriodTaps>;

/// An output's coefficients in the columns that its point reads; nothing if it has others too.
std::optional<Taps> taps_of(const Filter& filter, const Period1d& period, int output) {
    const auto number = static_cast<std::size_t>(output);
    const int point = output % kPeriodPoints;
    const int begin = filter.begin + output / kPeriodPoints * period.columns + period.first(point);
    Taps taps{};
    for (int k = 0; k < filter.count[number]; ++k) {
        const int place = filter.first[number] + k - begin;
        if (place >= 0 && place < period.taps(point)) {
            taps[static_cast<std::size_t>(place)] = filter.taps(output)[k];
        } else if (filter.taps(output)[k] != 0) {
            return std::nullopt;
        }
    }
    return taps;
}

/// The coefficients of each phase, taken from the second unit, and the edges'; false unless all others are the same.
bool find_phases(const Filter& filter, const Period1d& period, PeriodCoefs& coefs) {
    const int units = filter.num_outputs / kPeriodPoints;
    if (filter.num_outputs % kPeriodPoints != 0 || units < 2) return false;
    if (filter.end - filter.begin != units * period.columns) return false;
    const auto put = [&](int output, std::int32_t (&to)[kMaxPeriodTaps]) {
        const auto taps = taps_of(filter, period, output);
        if (taps) std::copy(taps->begin(), taps->end(), to);
        return taps.has_value();
    };
    for (int phase = 0; phase < period.phases; ++phase) {
        if (!put(kPeriodPoints + phase, coefs.phases[phase])) return false;
    }
    if (!put(0, coefs.edges[0]) || !put(filter.num_outputs - 1, coefs.edges[1])) return false;
    for (int output = 1; output + 1 < filter.num_outputs; ++output) {
        const auto taps = taps_of(filter, period, output);
        if (!taps || !std::equal(taps->begin(), taps->end(), coefs.phases[output % period.phases])) return false;
    }
    return true;
}

/// Source rows that `rows` rows of the grid read at the most, each `taps` of them; nothing where some read more.
std::optional<int> most_rows(const Filter& filter, int rows, int taps) {
    if (filter.max_taps > taps) return std::nullopt;
    int most = 0;
    for (int begin = 0; begin < filter.num_outputs; begin += rows) {
        const int last = std::min(begin + rows, filter.num_outputs) - 1;
        const auto first = filter.first[static_cast<std::size_t>(begin)];
        for (int row = begin; row <= last; ++row) {
            const auto number = static_cast<std::size_t>(row);
            if (filter.first[number] < first) return std::nullopt;
            most = std::max(most, filter.first[number] - first + taps);
        }
    }
    return most;
}

template <class Ratio>
bool set_ratio(Period& period, const Plan& plan, const char* name) {
    PeriodArgs& args = period.args;
    const Period1d luma{Ratio::kColumns, Ratio::kLumaPhases, Ratio::luma_first, [](int) { return Ratio::kLumaTaps; }};
    const Period1d chroma{Ratio::kColumns / 2, Ratio::kChromaPhases, Ratio::chroma_first, Ratio::chroma_taps};
    // Large elements keep the memory busy with fewer rows a warp, of which more warps are at work.
    args.strip_rows = plan.dtype == DType::float32 ? std::min(Ratio::kRows, 4) : Ratio::kRows;
    const auto luma_rows = most_rows(plan.filters[1], args.strip_rows, Ratio::kLumaRows);
    const auto chroma_rows = most_rows(plan.filters[3], args.strip_rows, Ratio::kChromaRows);
    if (!luma_rows || !chroma_rows) return false;
    if (!find_phases(plan.filters[0], luma, args.columns[0]) ||
        !find_phases(plan.filters[2], chroma, args.columns[1])) {
        return false;
    }
    args.stage_rows[0] = *luma_rows;
    args.stage_rows[1] = *chroma_rows;
    period.ratio = name;
    period.shared_bytes = kPeriodWarps * (*luma_rows + *chroma_rows) * kPeriodPitch<Ratio>;
    return true;
}

bool has_pairs(const Plan& plan) {
    const auto is = [&](std::size_t component, int plane, int offset, int step) {
        const ComponentLayout& layout = plan.components[component].layout;
        return layout.plane == plane && layout.offset_bytes == offset && layout.step_bytes == step;
    };
    return plan.bytes_per_sample == 1 && plan.num_components == 3 && plan.filters.size() == 4 && is(0, 0, 0, 1) &&
           is(1, 1, 0, 2) && is(2, 1, 1, 2);
}

bool set_color(Period& period, const Plan& plan) {
    PeriodColor& color = period.args.color;
    const auto channels = rgb_channels(plan);
    if (!channels) return false;
    std::copy(channels->begin(), channels->end(), period.channel);
    const ColorPlan& from = plan.color;
    color.fixed_luma = from.fixed[0][0];
    for (std::size_t i = 0; i < 3; ++i) {
        const auto channel = static_cast<std::size_t>((*channels)[i]);
        if (plan.dtype == DType::uint8 && from.fixed[channel][0] != color.fixed_luma) return false;
        for (std::size_t k = 0; k < 2; ++k) color.fixed_chroma[i][k] = from.fixed[channel][k + 1];
        for (std::size_t k = 0; k < 3; ++k) color.factor[i][k] = from.factor[channel][k];
        color.bias[i] = from.bias[channel];
        color.low[i] = from.low[channel];
        color.high[i] = from.high[channel];
    }
    if (plan.dtype != DType::float16 && plan.dtype != DType::bfloat16) return true;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto pair = [&](const float (&bounds)[3]) {
            const bool alone = plan.layout == Layout::chw;
            const float a = bounds[alone ? i : 2 * i % 3];
            const float b = bounds[alone ? i : (2 * i + 1) % 3];
            return plan.dtype == DType::float16 ? half_pair(a, b) : bfloat_pair(a, b);
        };
        color.low_pair[i] = pair(color.low);
        color.high_pair[i] = pair(color.high);
    }
    return true;
}

std::vector<PeriodRow> make_rows(const Filter& filter) {
    std::vector<PeriodRow> rows(static_cast<std::size_t>(filter.num_outputs));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].first = filter.first[i];
        for (int k = 0; k < filter.count[i]; ++k) {
            const auto coef = static_cast<std::uint16_t>(filter.taps(static_cast<int>(i))[k]);
            rows[i].coefs[k / 2] |= std::uint32_t{coef} << (16 * (k % 2));
        }
    }
    return rows;
}

}  // namespace

std::optional<Period> make_period(const Plan& plan) {
    Period period{};
    PeriodArgs& args = period.args;
    const bool turned = plan.placement.column_per_x == 0;
    if (turned || !has_pairs(plan) || !set_color(period, plan)) return std::nullopt;
    if (plan.layout != Layout::chw && (plan.layout != Layout::hwc || period.channel[0] != 0)) return std::nullopt;
    if (plan.color.offset[1] != plan.color.offset[2]) return std::nullopt;
    if (!set_ratio<ThreeToTwo>(period, plan, "3_2") && !set_ratio<TwoToOne>(period, plan, "2_1") &&
        !set_ratio<ThreeToOne>(period, plan, "3_1")) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < 2; ++i) {
        period.row_tables[i] = make_rows(plan.filters[2 * i + 1]);
        args.row_end[i] = plan.filters[2 * i + 1].end;
        args.start[i] = 8192 - plan.color.offset[i] * kCoefOne;
        args.begin[i] = plan.filters[2 * i].begin * (i == 0 ? 1 : 2);
        if (args.begin[i] % 16 != 0) return std::nullopt;
    }
    args.row_bytes = plan.filters[0].end - plan.filters[0].begin;
    args.grid_width = plan.grid.width;
    args.grid_height = plan.grid.height;
    args.side_by_side = plan.layout == Layout::hwc ? 1 : 0;
    return period;
}

}  // namespace tricodec::image::gpu
